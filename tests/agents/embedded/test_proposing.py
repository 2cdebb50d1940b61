"""The proposer reads a task and submits plans that hold."""

import pytest

from agents.embedded.edits import pair
from evolution.plan import Axis, Effort
from evolution.sequence import Sequence


@pytest.mark.parametrize("axis", list(Axis))
@pytest.mark.parametrize("effort", list(Effort))
async def test_a_task_of_the_library_is_edited_along_every_axis_with_every_effort(
    host, library_task, two_steps, axis, effort
):
    plans = {}
    for seed in range(4):
        plans[seed] = await host.plan(library_task, axis, effort, seed=seed)  # validates axis and effort
        assert plans[seed].before == two_steps
        assert plans[seed].rationale
        assert plans[seed] == await host.plan(library_task, axis, effort, seed=seed, sequence=two_steps)
    if axis is Axis.LENGTH:
        assert len({str(plan.after) for plan in plans.values()}) > 1, "the seed chooses"


async def test_the_reference_decides_what_is_harder(host, library_task, two_steps):
    names = ("web-access-logs", "order-ledger")
    every = dict.fromkeys(names, 1.0)
    reference = {
        "scenario": every,
        "skill": {name: {"filter-and-total": 1.0, "top-k-ties": 1.0, "percentile-report": 0.5} for name in names},
    }
    reference["skill"]["web-access-logs"]["timeline-merge"] = 8.0
    for seed in range(6):
        plan = await host.plan(library_task, Axis.SKILL, Effort.LOW, seed=seed, reference=reference)
        (edited,) = plan.edited_steps
        assert edited.skill != "percentile-report", "easier by the reference"


async def test_another_plan_follows_one_that_came_back(host, library_task):
    first = await host.propose(library_task, Axis.LENGTH, Effort.LOW)
    second = await host.propose(library_task, Axis.LENGTH, Effort.LOW, refuse=["no such pair"])
    assert second.submitted["after"] != first.submitted["after"]
    third = await host.propose(library_task, Axis.LENGTH, Effort.LOW, refuse=["no"] * 9)
    assert third.submitted is None
    assert third.said.startswith("cannot: 3 plans were turned down")


async def test_feedback_rules_a_pair_out(host, library_task):
    (inserted,) = (await host.plan(library_task, Axis.LENGTH, Effort.LOW)).edited_steps
    feedback = [
        {"source": "critic", "code": "critic/rejected", "text": f"step {inserted.id}: {inserted} is decoration"}
    ]
    for seed in range(8):
        plan = await host.plan(library_task, Axis.LENGTH, Effort.LOW, feedback=feedback, seed=seed)
        assert pair(inserted) not in {pair(step) for step in plan.edited_steps}


async def test_a_sequence_of_twelve_gets_no_longer(host, library_task, two_steps):
    from agents.embedded.edits import all_pairs

    steps = [step.model_copy(update={"id": f"s{i}"}) for i, step in enumerate(all_pairs("x")[:12])]
    ended = await host.propose(library_task, Axis.LENGTH, Effort.LOW, sequence=Sequence(steps=tuple(steps)))
    assert ended.said.startswith("cannot: the task has 12 pairs")


@pytest.mark.parametrize("axis", [Axis.SCENARIO, Axis.SKILL])
async def test_what_the_library_does_not_know_is_not_rewritten(host, foreign, axis):
    ended = await host.propose(foreign("access-log-digest"), axis, Effort.HIGH)
    assert ended.submitted is None
    assert ended.said.startswith("cannot: this task has pairs that the library does not know")


@pytest.mark.parametrize("effort", list(Effort))
@pytest.mark.parametrize(
    "name", ["access-log-digest", "thermistor-calibration", "layered-settings", "field-notes", "ledger-close"]
)
async def test_a_foreign_task_is_made_longer_around_its_own_steps(host, foreign, name, effort):
    for seed in range(3):
        plan = await host.plan(foreign(name), Axis.LENGTH, effort, seed=seed)
        kept = [step.id for step in plan.after.steps if step.id in plan.before.ids]
        start = plan.after.ids.index(kept[0])
        assert plan.after.ids[start : start + len(kept)] == tuple(kept), "nothing goes between its own steps"


async def test_a_multi_step_task_is_read_step_by_step(host, foreign):
    plan = await host.plan(foreign("ledger-close"), Axis.LENGTH, Effort.LOW)
    assert plan.before.ids == ("import", "adjust", "close")
    assert {step.scenario for step in plan.before.steps} == {"business"}
    # Only its last step is scored, so nothing may come behind it.
    assert plan.after.ids[-1] == "close"
