"""Foreign tasks are made longer, again and again, and stay sound in a real sandbox."""

import pytest

from agents.embedded import library
from evolution.gates.harder import steps_problem
from evolution.plan import Axis, Effort, Plan
from evolution.sequence import Sequence, Step
from sandbox.task import Task
from sandbox.task.reference import solved_steps
from sandbox.trial.steps import run_noop, run_reference

ALL = [
    "access-log-digest",  # sealed, binary
    "inventory-reconcile",  # sealed, partial rewards
    "layered-settings",  # an unprivileged user, a folder of its own
    "thermistor-calibration",  # reward.json, no input that matters: countersigned
    "flag-rollout",  # variables of the environment
    "reproducible-release",  # another working directory
    "field-notes",  # several steps, the mean counts
    "ledger-close",  # several steps, the last one counts
]
PAIRS = [
    ("web-access-logs", "percentile-report"),
    ("order-ledger", "top-k-ties"),
    ("sensor-telemetry", "filter-and-total"),
]


def longer(before: Sequence, *, front=(), end=()) -> Plan:
    after = Sequence(steps=(*front, *before.steps, *end))
    return Plan(axis=Axis.LENGTH, effort=Effort.MAX, before=before, after=after, rationale="tests")


def step(name, pair):
    return Step(id=name, scenario=pair[0], skill=pair[1])


async def score(sandboxes, task, run=run_reference, **more):
    async with sandboxes.running(task) as sandbox:
        return await run(task, sandbox, **more)


async def evolved(host, sandboxes, parent, plan, target):
    ended = await host.evolve(sandboxes, parent, plan, target)
    assert ended.submitted is not None, ended.said
    return Task.read(target), ended.submitted["summary"]


async def check_sound(sandboxes, child, parent, plan):
    solved = await score(sandboxes, child)
    assert solved.score == 1, solved
    nothing = await score(sandboxes, child, run_noop)
    before = await score(sandboxes, parent, run_noop)
    assert nothing.score < 0.5
    assert nothing.score <= before.score
    assert (await score(sandboxes, child, solution_of=parent)).score < 1
    assert await steps_problem(child, plan, sandboxes) is None
    assert [name for name in solved_steps(child) if name in plan.after.ids] == list(plan.after.ids)


async def ablated(sandboxes, child, name):
    result = await score(sandboxes, child, without={name})
    return {unit.name: unit.status for unit in result.units}


async def test_a_sealed_input_makes_the_original_tests_hang_on_the_new_step(host, sandboxes, foreign, tmp_path):
    parent = foreign("access-log-digest")
    before = Sequence(steps=(Step(id="origin", scenario="logs", skill="digest"),))
    plan = longer(before, front=(step("g1a", PAIRS[0]),))
    child, summary = await evolved(host, sandboxes, parent, plan, tmp_path / "child")
    assert "sealed (/app/data/access.log, tried out here)" in summary
    await check_sound(sandboxes, child, parent, plan)
    assert (await ablated(sandboxes, child, "g1a"))["origin::reward"] == "failed"
    # What was there is kept: the tests where they were, the solution as it was, the instruction word for word.
    for path in ("tests/expected/summary.csv", "tests/expected/worst_client.txt"):
        assert child.read_bytes(path) == parent.read_bytes(path)
    assert child.read_bytes("tests/origin_test.sh") == parent.read_bytes("tests/test.sh")
    assert child.read_bytes("solution/origin_solve.sh") == parent.read_bytes("solution/solve.sh")
    assert parent.instruction.strip() in child.instruction
    assert child.instruction.count("CANARY") == 0, "comments at the top stay there, where they are stripped"


async def test_a_figure_of_the_original_output_leads_to_the_step_behind(host, sandboxes, foreign, tmp_path):
    parent = foreign("inventory-reconcile")
    before = Sequence(steps=(Step(id="origin", scenario="business", skill="reconcile"),))
    plan = longer(before, end=(step("g1a", PAIRS[1]),))
    child, summary = await evolved(host, sandboxes, parent, plan, tmp_path / "child")
    assert "figure (/app/out/summary.txt" in summary
    await check_sound(sandboxes, child, parent, plan)
    alone = await ablated(sandboxes, child, "origin")
    assert "failed" in {status for name, status in alone.items() if name.startswith("g1a::")}


async def test_what_is_done_already_is_submitted_as_it_is(host, sandboxes, foreign, tmp_path):
    parent = foreign("thermistor-calibration")
    before = Sequence(steps=(Step(id="origin", scenario="debugging", skill="calibration"),))
    plan = longer(before, front=(step("g1a", PAIRS[0]),))
    child, summary = await evolved(host, sandboxes, parent, plan, tmp_path / "child")
    assert "countersigned (/app/calibrate.py, tried out here)" in summary
    assert (await ablated(sandboxes, child, "g1a"))["origin::countersigned_g1a"] == "failed"
    again = await host.evolve(sandboxes, parent, plan, tmp_path / "again", draft=child.root, attempt=2)
    assert again.submitted["summary"].startswith("Nothing was changed in attempt 2")
    assert Task.read(tmp_path / "again").content_hash == child.content_hash


@pytest.fixture
def few_scenarios(monkeypatch):
    """Only scenarios that want nothing beyond a plain Debian with Python."""
    monkeypatch.setattr(library, "scenario_names", lambda: tuple(sorted({scenario for scenario, _ in PAIRS})))


@pytest.mark.slow
@pytest.mark.usefixtures("few_scenarios")
@pytest.mark.parametrize("name", ALL)
async def test_hardened_twice_by_its_own_plans(host, sandboxes, foreign, tmp_path, name):
    task, sequence = foreign(name), None
    for generation in (1, 2):
        effort = Effort.MAX if generation == 1 else Effort.LOW
        plan = await host.plan(task, Axis.LENGTH, effort, generation=generation, seed=generation, sequence=sequence)
        child, _ = await evolved(host, sandboxes, task, plan, tmp_path / f"g{generation}")
        await check_sound(sandboxes, child, task, plan)
        again = await host.evolve(sandboxes, task, plan, tmp_path / f"again{generation}")
        assert again.submitted is not None
        assert Task.read(tmp_path / f"again{generation}").content_hash == child.content_hash
        task, sequence = child, plan.after


async def test_steps_cannot_go_into_a_foreign_task(host, sandboxes, foreign, tmp_path):
    parent = foreign("field-notes")
    before = Sequence(steps=(Step(id="index", scenario="x", skill="y"), Step(id="backlinks", scenario="x", skill="z")))
    after = before.insert(1, (step("g1a", PAIRS[0]),))
    plan = Plan(axis=Axis.LENGTH, effort=Effort.LOW, before=before, after=after)
    ended = await host.evolve(sandboxes, parent, plan, tmp_path / "child")
    assert ended.said == "cannot: steps can be put in front of this task or behind it, not into it"
    assert Task.read(tmp_path / "child").content_hash == parent.content_hash
