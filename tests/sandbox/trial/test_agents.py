"""Who acts in a trial: how an agent is found, what it is given, and how it may end."""

from __future__ import annotations

import asyncio
import sys
import textwrap
from dataclasses import replace

import pytest

from sandbox.errors import SandboxLostError
from sandbox.protocol import Limits
from sandbox.trial.acting import act_on_step, ending
from sandbox.trial.agent import AgentContext, AgentUnavailableError, Observation, ToolCall, Turn, Usage
from sandbox.trial.agents import AgentChoice, AgentChoiceError, choose_agent
from sandbox.trial.running import Trials
from sandbox.trial.script_agent import ScriptAgent


class Writer:
    """Writes what it is told into /app/out, and tells of it."""

    name, version, model = "writer", "2", "some/model"

    def __init__(self, word: str = "hello", then: str = "") -> None:
        self.word = word
        self.then = then
        self.prepared: list[str] = []

    async def prepare(self, sandbox) -> None:
        self.prepared.append((await sandbox.exec("pwd")).text)

    async def act(self, instruction, sandbox, context) -> None:
        command = f"echo {self.word} > out; echo $COLOUR $PWD"
        ran = await sandbox.exec(command)
        call = ToolCall("1", "bash", {"command": command})
        context.record(Turn("user", instruction))
        context.record(
            Turn(
                "agent",
                "so be it",
                calls=(call,),
                observations=(Observation(ran.text, "1"),),
                usage=Usage(10, 4, 2, 0.5),
            )
        )
        context.spend(Usage(1, 0, 1))
        if self.then == "raise":
            raise KeyError("word")
        if self.then == "wait":
            await sandbox.exec("sleep 1000")
        if self.then == "outage":
            raise AgentUnavailableError("the provider is down")
        if self.then == "lost":
            raise SandboxLostError("gone")


def choice(**options) -> AgentChoice:
    return AgentChoice("tests:Writer", lambda: Writer(**options), "tests:Writer", options)


@pytest.fixture
def trial(sandboxes, write, hello):
    async def run(chosen: AgentChoice, files=hello, **more):
        return await Trials(sandboxes, chosen, **more).run(write(files))

    return run


async def test_an_agent_works_as_the_task_says_and_its_turns_are_kept(sandboxes, trial) -> None:
    result = await trial(choice())
    assert (result.score, result.trial_class, result.findings) == (1, "scored", ())
    run = result.steps[0].run
    assert run.usage == Usage(11, 4, 3, 0.5)
    told, did = run.turns
    assert (told.source, told.message) == ("user", "Write hello to /app/out.\n")
    assert did.observations == (Observation("green /app\n", "1"),)
    assert did.at > 0


async def test_an_agent_that_raises_is_verified_all_the_same(sandboxes, trial) -> None:
    result = await trial(choice(then="raise"))
    assert result.score == 1
    assert [(finding.kind, finding.note) for finding in result.findings] == [("agent-error", "KeyError: 'word'")]
    assert len(result.steps[0].run.turns) == 2


async def test_an_agent_that_ran_out_of_time_keeps_the_reward_of_what_it_had_done(sandboxes, trial, hello) -> None:
    short = {**hello, "task.toml": hello["task.toml"] + "[agent]\ntimeout_sec = 1.5\n"}
    result = await trial(choice(then="wait"), short)
    assert result.score == 1
    assert [finding.kind for finding in result.findings] == ["agent-timeout"]
    assert len(result.steps[0].run.turns) == 2


@pytest.mark.parametrize(
    ("then", "code", "said"), [("outage", "agent-unavailable", "the provider is down"), ("lost", "sandbox", "gone")]
)
async def test_what_is_not_the_agents_fault_is_no_reward_but_infrastructure(sandboxes, trial, then, code, said) -> None:
    result = await trial(choice(then=then))
    assert (result.score, result.trial_class, result.error_code, result.error) == (None, "infrastructure", code, said)


async def test_one_agent_serves_all_steps_and_prepares_once(sandboxes, write, two_steps) -> None:
    made: list[Writer] = []

    def make() -> Writer:
        made.append(Writer("two"))
        return made[-1]

    class Stepper(Writer):
        async def act(self, instruction, sandbox, context) -> None:
            await sandbox.exec(f"touch {context.step}")
            context.record(Turn("user", f"{context.number} of {context.steps}: {instruction}"))

    def stepper() -> Stepper:
        made.append(Stepper())
        return made[-1]

    result = await Trials(sandboxes, AgentChoice("stepper", stepper)).run(write(two_steps))
    assert result.score == 1
    assert [step.run.turns[0].message for step in result.steps] == [
        "1 of 2: Write one to /app/one.\n",
        "2 of 2: Write two to /app/two.\n",
    ]
    assert [agent.prepared for agent in made] == [["/app\n"]]


async def test_a_script_is_run_as_the_agent_and_its_output_is_the_trajectory(sandboxes, trial) -> None:
    script = b'cat "$1"; echo $COLOUR $PWD; echo hello > out; exit 3\n'
    result = await trial(AgentChoice("script:a.sh", lambda: ScriptAgent(script, "a.sh")))
    assert result.score == 1
    told, did = result.steps[0].run.turns
    assert told.message == "Write hello to /app/out.\n"
    assert did.observations[0].content == "Write hello to /app/out.\ngreen /app\n\n[exit status 3]"


async def test_a_script_that_ran_out_of_time_keeps_its_reward(sandboxes, trial, hello) -> None:
    short = {**hello, "task.toml": hello["task.toml"] + "[agent]\ntimeout_sec = 1\n"}
    result = await trial(AgentChoice("s", lambda: ScriptAgent(b"echo hello > out; sleep 1000\n")), short)
    assert result.score == 1
    assert [finding.kind for finding in result.findings] == ["agent-timeout"]


async def test_a_command_of_an_agent_never_outlasts_the_agents_time(sandboxes, write, hello, tmp_path) -> None:
    seen = []

    class Patient(Writer):
        async def act(self, instruction, sandbox, context) -> None:
            seen.append(context.seconds_left())
            seen.append((await sandbox.exec("sleep 1000", timeout=900)).timed_out)

    task = write({**hello, "task.toml": "[agent]\ntimeout_sec = 1\n"})
    async with sandboxes.running(task, limits=replace(Limits(), memory_mb=None)) as sandbox:
        run = await act_on_step(Patient(), task, sandbox, task.steps[0], tmp_path)
    assert 0 < seen[0] <= 1
    assert run.timed_out or seen[1]


async def test_foreign_work_ends_in_a_value_whatever_it_does() -> None:
    async def raises() -> None:
        raise SystemError("odd")

    async def stubborn() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise ValueError("not now") from None

    async def cancels() -> None:
        raise asyncio.CancelledError

    assert isinstance((await ending(raises(), None)).error, SystemError)
    assert isinstance((await ending(cancels(), None)).error, asyncio.CancelledError)
    ended = await ending(stubborn(), 0.05)
    assert ended.timed_out
    assert isinstance(ended.error, ValueError)
    assert await ending(asyncio.sleep(0), 5) == await ending(asyncio.sleep(0), None)


def test_turns_that_no_trajectory_can_hold_are_refused() -> None:
    with pytest.raises(ValueError, match="only a turn of an agent"):
        Turn("user", usage=Usage())
    with pytest.raises(ValueError, match="same id"):
        Turn("agent", calls=(ToolCall("1", "a"), ToolCall("1", "b")))
    with pytest.raises(ValueError, match="answers the call '2'"):
        Turn("agent", calls=(ToolCall("1", "a"),), observations=(Observation("x", "2"),))


def test_time_left_and_usage_add_up(tmp_path) -> None:
    context = AgentContext("main", number=1, steps=1, timeout=None, logs=tmp_path)
    assert (context.seconds_left(), context.usage) == (None, None)
    context.spend(Usage(1, 1, 1))
    assert context.usage.cost is None
    context.spend(Usage(1, 0, 2, 0.25))
    assert context.usage == Usage(2, 1, 3, 0.25)


def test_words_for_agents(tmp_path, monkeypatch) -> None:
    assert choose_agent("oracle").make is None
    assert choose_agent("noop") == choose_agent("nop")
    (tmp_path / "s.sh").write_text("true\n")
    assert choose_agent(f"script:{tmp_path / 's.sh'}").make().name == "script:s.sh"
    program = "class A:\n    name, version = 'a', ''\n    def __init__(self, n=1): self.n = n\n"
    program += "    async def act(self, instruction, sandbox, context): ...\nclass B: ...\nC = 3\n"
    (tmp_path / "mine.py").write_text(textwrap.dedent(program))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "harbor", None)
    (tmp_path / "theirs.py").write_text("import harbor.agents.base\n")
    assert choose_agent("mine:A", {"n": 7}).make().n == 7
    for word, said in {
        "oracel": "give oracle, nop, script:FILE or module:Class",
        "script:/no/such": "No such file",
        "mine:Z": "has no class 'Z'",
        "mine:C": "has no class 'C'",
        "nowhere:A": "cannot be imported",
        "theirs:A": "install `harbor` and `envolve` into one environment of Python 3.12",
    }.items():
        with pytest.raises(AgentChoiceError, match=said.replace("(", "\\(")):
            choose_agent(word)
    with pytest.raises(AgentChoiceError, match="takes no options"):
        choose_agent("oracle", {"n": 1})
    with pytest.raises(AgentChoiceError, match="is no agent: it needs `name`"):
        choose_agent("mine:B").make()
    with pytest.raises(AgentChoiceError, match="options \\['m'\\]"):
        choose_agent("mine:A", {"m": 1}).make()
