"""The critic: reviews a plan by rules, each of which says what a proposer could do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agents.embedded import library
from agents.embedded.assignment import Facts, plan_of
from agents.embedded.conversation import Call, Script
from agents.embedded.edits import LONGEST, pair
from agents.embedded.tools import texts
from evolution.plan import Axis, Plan
from evolution.sequence import Step

MOST_AT_THE_END = 1


def review(facts: Facts, _seed: int) -> Script:
    """Reads the task, judges the plan and submits the review."""
    files = yield from texts(("instruction.md", "task.toml"))
    try:
        plan = plan_of(facts)
        found = [*plan_findings(plan), *difficulty_findings(facts.get("difficulty"))]
    except ValueError as error:
        found = [f"the plan does not keep to its own rules: {error}"]
    if not files:
        found.append(
            "neither instruction.md nor task.toml of the task can be read, so the plan cannot be compared with it"
        )
    verdict: dict[str, object] = {"accepted": not found, "findings": found}
    answers = yield (Call("submit_review", verdict),)
    return "The review was not taken." if answers[0].failed else "The review is submitted."


def plan_findings(plan: Plan) -> Iterator[str]:
    """What is wrong with the plan itself."""
    steps = plan.after.steps
    if len(steps) > LONGEST:
        yield f"the sequence has {len(steps)} pairs: more than {LONGEST} are too long for one task, insert fewer"
    twice = sorted({str(step) for step in steps if [pair(each) for each in steps].count(pair(step)) > 1})
    for name in twice:
        yield f"the pair {name} comes twice: asking for the same again is longer, not harder, so take another pair"
    for step in plan.edited_steps:
        yield from pair_findings(step)
    if plan.axis is Axis.LENGTH:
        yield from length_findings(plan)
    if not plan.rationale.strip():
        yield "the rationale is empty: say why the new sequence is harder"


def pair_findings(step: Step) -> Iterator[str]:
    """Whether a skill can be applied in a scenario, as far as the library knows both."""
    scenario, skill = step.scenario in library.scenario_names(), step.skill in library.skill_names()
    if not scenario:
        yield f"step {step.id}: nobody here knows how to write the scenario {step.scenario!r}, take one that is known"
    if not skill:
        yield f"step {step.id}: nobody here knows how to write the skill {step.skill!r}, take one that is known"
    if scenario and skill and not library.compatible(step.scenario, step.skill):
        yield f"step {step.id}: the skill {step.skill!r} has nothing to work on in {step.scenario!r}, take another one"


def length_findings(plan: Plan) -> Iterator[str]:
    """Whether inserted steps bear load: steps of the parent come after them."""
    old = plan.before.ids
    last = max(i for i, name in enumerate(plan.after.ids) if name in old)
    behind = plan.after.ids[last + 1 :]
    if len(behind) > MOST_AT_THE_END:
        names = ", ".join(behind)
        yield f"steps {names} come after all that the task asks for today: put them in front of a step that needs them"


def difficulty_findings(difficulty: object) -> Iterator[str]:
    """Whether the reference calls the new sequence harder."""
    if not isinstance(difficulty, Mapping):
        return
    before, after = difficulty.get("before"), difficulty.get("after")
    if isinstance(before, (int, float)) and isinstance(after, (int, float)) and after <= before:
        yield (
            f"by the reference the difficulty goes from {before:g} to {after:g} nats, which is not harder: choose "
            "scenarios or skills with a larger surprisal"
        )
