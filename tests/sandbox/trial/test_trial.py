"""Trials: the reference solution or nothing, then the verifier, step by step where there are steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.task import Task
from sandbox.task.reference import edited_files, solved_steps
from sandbox.trial.result import meets, roll_up
from sandbox.trial.steps import run_noop, run_reference
from sandbox.verification.reward import Reward

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DOCKERFILE = "FROM python:3.12-bookworm\nWORKDIR /app\n"
REWARD = 'if [ "$(cat {path} 2>/dev/null)" = "{value}" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n'


@pytest.fixture
def write(tmp_path: Path) -> Callable[[dict[str, str]], Task]:
    def written(files: dict[str, str], name: str = "task") -> Task:
        for path, text in files.items():
            (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / path).write_text(text)
        return Task.read(tmp_path / name)

    return written


SINGLE = {
    "task.toml": '[solution]\nenv = { VALUE = "ab" }\n',
    "instruction.md": "Write ab to /app/out.\n",
    "environment/Dockerfile": DOCKERFILE,
    "solution/solve.sh": "printf '' > out\n# envolve: step a\nprintf ${VALUE:0:1} >> out\n# envolve: step b\n"
    "cat /solution/b.txt >> /app/out\n",
    "solution/b.txt": "b",
    "tests/test.sh": REWARD.format(path="/app/out", value="ab"),
}


async def test_the_solution_earns_the_reward_and_nothing_earns_none(sandboxes, write) -> None:
    task = write(SINGLE)
    async with sandboxes.running(task) as sandbox:
        result = await run_reference(task, sandbox)
    assert (result.score, result.steps[0].solution.exit_code) == (1, 0)
    async with sandboxes.running(task) as sandbox:
        result = await run_noop(task, sandbox)
    assert (result.score, result.steps[0].solution) == (0, None)


@pytest.mark.parametrize("left_out", [{"a"}, {"b"}, {"a", "b"}])
async def test_sections_can_be_left_out(sandboxes, write, left_out: set[str]) -> None:
    task = write(SINGLE)
    async with sandboxes.running(task) as sandbox:
        assert (await run_reference(task, sandbox, without=left_out)).score == 0


async def test_the_solution_of_another_task_with_other_names(sandboxes, write) -> None:
    parent = write(SINGLE, "parent")
    child = write({**SINGLE, "tests/test.sh": SINGLE["tests/test.sh"].replace("/app/out", "/app/new")}, "child")
    async with sandboxes.running(child) as sandbox:
        assert (await run_reference(child, sandbox, solution_of=parent)).score == 0
    async with sandboxes.running(child) as sandbox:
        assert (await run_reference(child, sandbox, solution_of=parent, rename={"out": "new"})).score == 1


def test_edited_files_are_those_that_change_and_a_script_without_run_bit(write) -> None:
    task = write({**SINGLE, "solution/c.txt": "see b\n"})
    assert set(edited_files(task, "solution")) == {"solve.sh"}
    assert set(edited_files(task, "solution", rename={"b": "x"})) == {"solve.sh", "b.txt", "c.txt"}
    assert edited_files(task, "solution", {"a", "b"})["solve.sh"] == b"printf '' > out\n"


STEPS = {
    "task.toml": 'multi_step_reward_strategy = "{strategy}"\n[[steps]]\nname = "one"\nmin_reward = {least}\n[[steps]]\nname = "two"\n',
    "environment/Dockerfile": DOCKERFILE,
    "steps/one/instruction.md": "Write 1 to /app/one.\n",
    "steps/one/solution/solve.sh": "echo 1 > /app/one\n",
    "steps/one/tests/test.sh": "ls /tests\n" + REWARD.format(path="/app/one", value="1"),
    "steps/one/tests/own.txt": "",
    "steps/two/instruction.md": "Write 2 to /app/two.\n",
    "steps/two/workdir/setup.sh": "ls -A /tests /logs/verifier > /app/seen\n[ -e given ] && cp given ready\n",
    "steps/two/workdir/given": "2\n",
    "steps/two/solution/solve.sh": "cat /app/ready > /app/two\n",
    "steps/two/tests/test.sh": "ls /tests; cat /app/seen\n" + REWARD.format(path="/app/two", value="2"),
    "tests/shared.txt": "",
}


def steps(strategy: str = "mean", least: float = 0) -> dict[str, str]:
    return {**STEPS, "task.toml": STEPS["task.toml"].format(strategy=strategy, least=least)}


async def test_steps_run_in_order_each_with_its_own_tests(sandboxes, write) -> None:
    task = write(steps())
    async with sandboxes.running(task) as sandbox:
        result = await run_reference(task, sandbox)
    assert [step.verification.reward.score for step in result.steps] == [1, 1]
    assert result.score == 1
    one, two = [step.verification.stdout.split() for step in result.steps]
    assert one == ["own.txt", "pytest.ini", "shared.txt", "test.sh"]
    assert two == ["pytest.ini", "shared.txt", "test.sh", "/logs/verifier:", "/tests:"]


@pytest.mark.parametrize(
    ("config", "left_out", "ran", "score"),
    [
        (("mean", 0), "one", ["one", "two"], 0.5),
        (("final", 0), "one", ["one", "two"], 1),
        (("final", 0), "two", ["one", "two"], 0),
        (("mean", 1), "one", ["one"], 0),
        (("final", 1), "one", ["one"], 0),
    ],
)
async def test_roll_up_and_min_reward(sandboxes, write, config, left_out, ran, score) -> None:  # noqa: PLR0917
    task = write(steps(*config))
    assert solved_steps(task) == ("one", "two")
    async with sandboxes.running(task) as sandbox:
        result = await run_reference(task, sandbox, without={left_out})
    assert [step.name for step in result.steps] == ran
    assert result.score == score


async def test_a_step_that_cannot_be_prepared_ends_the_trial(sandboxes, write) -> None:
    task = write({**steps(), "steps/two/workdir/setup.sh": "echo broken >&2; exit 3\n"})
    async with sandboxes.running(task) as sandbox:
        result = await run_reference(task, sandbox)
    assert (result.score, result.error_code) == (None, "setup")
    assert "status 3" in result.error
    assert "broken" in result.error


rewards = st.none() | st.dictionaries(st.sampled_from("abc"), st.floats(-1e6, 1e6)).map(Reward)


@given(st.lists(rewards, min_size=2))
def test_the_mean_is_taken_of_each_key_over_the_steps_with_a_reward(found: list[Reward | None]) -> None:
    mean = roll_up(found, "mean")
    there = [reward.rewards for reward in found if reward is not None]
    keys = {key for reward in there for key in reward}
    assert (mean is None) == (not keys)
    for key in keys:
        assert mean.rewards[key] == pytest.approx(sum(reward.get(key, 0) for reward in there) / len(there))


@given(st.lists(rewards, min_size=1))
def test_final_is_the_last_step_as_it_is(found: list[Reward | None]) -> None:
    assert roll_up(found, "final") is found[-1]


def test_thresholds_of_a_step() -> None:
    assert meets(Reward({"reward": 0.5}), 0.5)
    assert not meets(Reward({"reward": 0.4}), 0.5)
    assert not meets(Reward({"other": 1.0}), 0.0)
    assert not meets(None, -1.0)
    assert meets(None, None)
    assert meets(Reward({"a": 1.0, "b": 2.0}), {"a": 1.0, "b": 1.0})
    assert not meets(Reward({"a": 1.0}), {"a": 1.0, "b": 0.0})
