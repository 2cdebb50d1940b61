"""A plan for a task of the library becomes a folder that solves and verifies in a real sandbox."""

import pytest

from agents.embedded import library
from evolution.gates.harder import steps_problem
from evolution.plan import Axis, Effort, Plan
from sandbox.task import Task
from sandbox.task.solution import section_ids
from sandbox.trial.steps import run_noop, run_reference


@pytest.mark.parametrize("axis", list(Axis))
async def test_the_child_is_solved_by_its_reference_and_by_nothing_less(host, sandboxes, library_task, tmp_path, axis):
    plan = await host.plan(library_task, axis, Effort.LOW, seed=3)
    ended = await host.evolve(sandboxes, library_task, plan, tmp_path / "child")
    assert ended.submitted is not None, ended.said
    child = Task.read(tmp_path / "child")
    assert section_ids(child.read_text("solution/solve.sh")) == plan.after.ids
    assert child.read_text("README.md") == "Kept by hand.\n"
    assert "# ours\n[metadata.team]\nowner = 'tests'\n" in child.read_text("task.toml")
    async with sandboxes.running(child) as sandbox:
        solved = await run_reference(child, sandbox)
    assert solved.score == 1, solved
    assert {unit.name.partition("::")[0] for unit in solved.units} == set(plan.after.ids)
    async with sandboxes.running(child) as sandbox:
        assert (await run_noop(child, sandbox)).score == 0
    assert await steps_problem(child, plan, sandboxes) is None

    again = await host.evolve(sandboxes, library_task, plan, tmp_path / "again")
    assert again.messages == ended.messages
    assert Task.read(tmp_path / "again").content_hash == child.content_hash


async def test_a_repair_restores_what_differs_and_says_when_nothing_does(host, sandboxes, library_task, tmp_path):
    plan = await host.plan(library_task, Axis.SCENARIO, Effort.LOW, seed=3)
    await host.evolve(sandboxes, library_task, plan, tmp_path / "child")
    child = Task.read(tmp_path / "child")
    untouched = await host.evolve(sandboxes, library_task, plan, tmp_path / "second", draft=child.root, attempt=2)
    assert untouched.submitted["summary"].startswith("Nothing was changed in attempt 2")
    (child.root / "instruction.md").write_text("Do something.\n")
    (child.root / "tests" / "test.sh").chmod(0o644)
    (child.root / "solution" / "solve.sh").unlink()
    await host.evolve(sandboxes, library_task, plan, tmp_path / "third", draft=child.root, attempt=3)
    assert Task.read(tmp_path / "third").content_hash == child.content_hash


async def test_a_missing_command_ends_it_before_anything_is_written(
    host, sandboxes, library_task, tmp_path, monkeypatch
):
    plan = await host.plan(library_task, Axis.LENGTH, Effort.LOW, seed=3)
    monkeypatch.setattr(library, "tools", lambda scenario, skill: ("bash", "no-such-command"))
    ended = await host.evolve(sandboxes, library_task, plan, tmp_path / "child")
    assert ended.said.startswith("cannot: the image lacks no-such-command")
    assert Task.read(tmp_path / "child").content_hash == library_task.content_hash


async def test_a_plan_with_a_pair_that_nobody_can_write_is_declined(host, sandboxes, library_task, tmp_path, two_steps):
    first = two_steps.steps[0].model_copy(update={"scenario": "moon-base"})
    after = two_steps.model_copy(update={"steps": (first, two_steps.steps[1])})
    plan = Plan(axis=Axis.SCENARIO, effort=Effort.LOW, before=two_steps, after=after)
    ended = await host.evolve(sandboxes, library_task, plan, tmp_path / "child")
    assert ended.said == "cannot: no way is known to write s1 (moon-base/filter-and-total)"
