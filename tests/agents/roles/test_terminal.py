"""Solver and attacker at work in real sandboxes, by a scripted model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from agents.budget import Budget
from agents.errors import ModelError, ModelUnavailableError
from agents.metered import Patience
from agents.model import ModelGateway
from agents.roles.terminal import TerminalAgents, TurnRecorder
from agents.scripted import ScriptedChatModel, calls
from evolution.gates.calibration import CalibrationGate
from evolution.journal import Journal
from evolution.verdict import Candidate
from sandbox.sandboxes import Sandboxes
from sandbox.task import Task
from sandbox.trial.agent import AgentContext
from sandbox.trial.agents import AgentChoice
from sandbox.trial.result import TrialResult
from sandbox.trial.running import Trials

SUBMIT = calls(("submit", {"summary": "done"}))
SLOW = calls(("run", {"command": "echo early > /app/out; sleep 60"}))
FILES = {
    "task.toml": 'schema_version = "1.4"\n[task]\nname = "tests/out"\n[agent]\ntimeout_sec = 30\nuser = "worker"\n[verifier]\ntimeout_sec = 30\n',
    "instruction.md": "Write the name of who you are to /app/out.\n",
    "environment/Dockerfile": "FROM python:3.12-bookworm\nWORKDIR /app\nRUN useradd -m worker && chown worker /app\n",
    "solution/solve.sh": "#!/bin/bash\nid -un > /app/out\n",
    "tests/test.sh": "#!/bin/bash\n[ -s /app/out ]; echo $((1 - $?)) > /logs/verifier/reward.txt\n",
}


def write(folder: Path, **changed: str) -> Task:
    for path, content in {**FILES, **changed}.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
        target.chmod(0o755 if path.endswith(".sh") else 0o644)
    return Task.read(folder)


@pytest.fixture
def as_root(tmp_path: Path) -> Task:
    """The task without a user of its own: runs on any machine."""
    return write(
        tmp_path / "root",
        **{
            "task.toml": FILES["task.toml"].replace('user = "worker"\n', ""),
            "environment/Dockerfile": "FROM python:3.12-bookworm\nWORKDIR /app\n",
        },
    )


def gateway(journal: Journal, **given: Any) -> ModelGateway:
    return ModelGateway(journal, patience=Patience(attempts=2, sleep=lambda _: asyncio.sleep(0)), **given)


async def tried(
    task: Task, sandboxes: Sandboxes, agents: TerminalAgents, *, seed: int = 1, hint: str = ""
) -> TrialResult:
    return await Trials(sandboxes, AgentChoice(agents.name, lambda: agents.make(seed=seed, hint=hint))).run(task)


async def test_it_works_as_the_tasks_user_and_its_turns_are_recorded(
    tmp_path: Path, journal: Journal, sandboxes: Sandboxes
) -> None:
    counted = calls(("run", {"command": "id -un | tee out; pwd; echo oops >&2; exit 3"}), content="I look.").model_copy(
        update={
            "usage_metadata": {
                "input_tokens": 50,
                "output_tokens": 7,
                "total_tokens": 57,
                "input_token_details": {"cache_read": 20},
            }
        }
    )
    model = ScriptedChatModel(script=[counted, SUBMIT])
    result = await tried(write(tmp_path / "task"), sandboxes, TerminalAgents(gateway(journal), model))
    if result.error_code == "unsupported" or "useradd" in result.error:
        pytest.skip(f"no users of their own on this machine: {result.error}")
    assert result.score == 1, result.error
    (step,) = result.steps
    first, last = step.run.turns
    assert first.message == "I look."
    assert first.observations[0].content == "exit code: 3\nstdout:\nworker\n/app\n\nstderr:\noops\n"
    assert first.observations[0].call_id == first.calls[0].id
    assert first.usage is not None
    assert (first.usage.input_tokens, first.usage.cached_tokens, first.usage.output_tokens) == (50, 20, 7)
    assert [call.name for call in last.calls] == ["submit"]
    system, told = model.seen[0]
    assert "work on it in a terminal" in str(system.content)
    assert str(told.content).strip() == FILES["instruction.md"].strip()


async def test_a_hint_is_told_and_an_attacker_is_told_to_cheat(
    as_root: Task, journal: Journal, sandboxes: Sandboxes
) -> None:
    model = ScriptedChatModel(script=[SUBMIT, SUBMIT])
    await tried(as_root, sandboxes, TerminalAgents(gateway(journal), model), hint="use id")
    await tried(as_root, sandboxes, TerminalAgents(gateway(journal), model, kind="attacker"))
    assert str(model.seen[0][1].content).rstrip().endswith("only you are told this:\n\nuse id")
    assert "can it be cheated" in str(model.seen[1][0].content)


async def test_what_it_did_counts_and_is_recorded_when_its_time_is_up(
    tmp_path: Path, as_root: Task, journal: Journal, sandboxes: Sandboxes
) -> None:
    toml = (as_root.root / "task.toml").read_text().replace("[agent]\ntimeout_sec = 30", "[agent]\ntimeout_sec = 3")
    short = write(
        tmp_path / "short", **{"task.toml": toml, "environment/Dockerfile": "FROM python:3.12-bookworm\nWORKDIR /app\n"}
    )
    result = await tried(short, sandboxes, TerminalAgents(gateway(journal), ScriptedChatModel(script=[SLOW] * 9)))
    (step,) = result.steps
    assert step.run.timed_out
    assert step.run.turns[0].calls[0].arguments == {"command": "echo early > /app/out; sleep 60"}
    assert result.score == 1


@pytest.mark.parametrize("broken", [ModelUnavailableError("rate limit"), ModelError("no such model")])
async def test_a_model_that_cannot_be_had_is_no_failed_attempt(
    as_root: Task, journal: Journal, sandboxes: Sandboxes, broken: Exception
) -> None:
    model = ScriptedChatModel(script=[calls(("run", {"command": "true"})), *[broken] * 4])
    agents = TerminalAgents(gateway(journal), model)
    result = await tried(as_root, sandboxes, agents)
    assert (result.trial_class, result.error_code) == ("infrastructure", "agent-unavailable")
    assert str(broken) in result.error
    never = TerminalAgents(gateway(journal, budget=Budget(calls=0)), ScriptedChatModel(script=[SUBMIT]))
    over = await tried(as_root, sandboxes, never, seed=2)
    assert over.error_code == "agent-unavailable"
    assert "limit of calls 0" in over.error
    verdict = await CalibrationGate(never).check(Candidate(as_root), sandboxes)
    assert (verdict.verdict_class, verdict.code) == ("infrastructure", "calibration/solver")


async def test_a_model_string_that_names_nothing_is_no_failed_attempt(
    as_root: Task, journal: Journal, sandboxes: Sandboxes
) -> None:
    result = await tried(as_root, sandboxes, TerminalAgents(gateway(journal), "nowhere.at.all:model"))
    assert result.error_code == "agent-unavailable"


async def test_a_solver_that_never_submits_is_a_failed_attempt(
    as_root: Task, journal: Journal, sandboxes: Sandboxes
) -> None:
    result = await tried(
        as_root, sandboxes, TerminalAgents(gateway(journal), ScriptedChatModel(script=[AIMessage("Done!")] * 9))
    )
    assert result.score == 0
    assert "unusable answers in a row" in result.steps[0].run.error


async def test_a_finished_call_is_not_made_again_and_another_conversation_has_its_own(
    tmp_path: Path, as_root: Task, sandboxes: Sandboxes
) -> None:
    def agents(journal: Journal, model: ScriptedChatModel, kind: str = "solver") -> TerminalAgents:
        return TerminalAgents(gateway(journal), model, kind=kind)

    act = calls(("run", {"command": "echo me > /app/out"}))
    with Journal(tmp_path / "models.db") as journal:
        assert (await tried(as_root, sandboxes, agents(journal, ScriptedChatModel(script=[act, SUBMIT])))).score == 1
    with Journal(tmp_path / "models.db") as journal:  # as after a restart
        silent = ScriptedChatModel(script=[])
        assert (await tried(as_root, sandboxes, agents(journal, silent))).score == 1
        assert silent.seen == []
        another = write(
            tmp_path / "another",
            **{
                "task.toml": (as_root.root / "task.toml").read_text(),
                "environment/Dockerfile": "FROM python:3.12-bookworm\nWORKDIR /app\nENV OTHER=1\n",
            },
        )
        for task, options, kind in (
            (as_root, {"seed": 2}, "solver"),
            (as_root, {"hint": "id"}, "solver"),
            (as_root, {}, "attacker"),
            (another, {}, "solver"),
        ):
            model = ScriptedChatModel(script=[SUBMIT])
            assert (await tried(task, sandboxes, agents(journal, model, kind), **options)).score == 0
            assert len(model.seen) == 1


def heard(*messages: BaseMessage) -> tuple[Any, ...]:
    context = AgentContext("main", number=1, steps=1, timeout=None, logs=Path())
    recorder = TurnRecorder(context)
    for message in messages:
        recorder.heard(message)
    recorder.finish()
    return context.turns


def test_calls_without_or_with_the_same_id_and_calls_that_cannot_be_read_are_recorded() -> None:
    answer = AIMessage(
        "",
        tool_calls=[
            {"name": "run", "args": {"command": "a"}, "id": None},
            {"name": "run", "args": {"command": "b"}, "id": "x"},
            {"name": "run", "args": {"command": "c"}, "id": "x"},
        ],
        invalid_tool_calls=[{"name": "run", "args": "{", "id": "bad", "error": None, "type": "invalid_tool_call"}],
        additional_kwargs={"reasoning_content": "Let me see."},
    )
    (turn,) = heard(
        answer, ToolMessage("seen", tool_call_id="call-1-1"), ToolMessage("stray", tool_call_id="elsewhere")
    )
    assert [call.id for call in turn.calls] == ["bad", "call-1-1", "x"]
    assert turn.reasoning == "Let me see."
    assert [(seen.content, seen.call_id) for seen in turn.observations] == [("seen", "call-1-1"), ("stray", "")]
