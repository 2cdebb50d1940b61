"""A plan can be made exactly when the difference of its sequences keeps to its axis and effort."""

from itertools import product

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from evolution.plan import Axis, Effort, Plan
from evolution.sequence import Sequence, Step


def sequence(*words):
    """`"s1 log grep"` → a step."""
    return Sequence(steps=tuple(Step(**dict(zip(("id", "scenario", "skill"), w.split(), strict=True))) for w in words))


BEFORE = sequence("s1 log grep", "s2 csv awk", "s3 backup tar")


def plan(axis, effort, after, before=BEFORE):
    return Plan(axis=axis, effort=effort, before=before, after=after, rationale="harder")


def refused(axis, effort, after, match):
    with pytest.raises(ValidationError, match=match):
        plan(axis, effort, after)


def test_scenario_replaces_situations_only():
    made = plan("scenario", "low", BEFORE.replace_scenario(1, "ledger"))
    assert made.edited_positions == (1,)
    assert [str(step) for step in made.edited_steps] == ["ledger/awk"]
    refused("scenario", "low", BEFORE.replace_skill(1, "jq"), "step s2 goes from csv/awk to csv/jq")


def test_skill_replaces_skills_only():
    assert plan("skill", "low", BEFORE.replace_skill(2, "rsync")).edited_positions == (2,)
    refused("skill", "low", BEFORE.replace_scenario(2, "mirror"), "must keep each step's scenario")
    refused("skill", "max", BEFORE.insert(0, sequence("s4 a b").steps), r"the step ids must stay \['s1', 's2', 's3'\]")


def test_length_inserts_only():
    longer = BEFORE.insert(1, sequence("s4 a b", "s5 a c").steps)
    assert plan("length", "high", longer).edited_positions == (1, 2)
    refused("length", "max", longer.replace_skill(0, "sed"), "every parent step must stay")
    refused("length", "max", sequence("s1 log grep", "s3 backup tar", "s4 a b"), "every parent step must stay")
    refused("length", "max", sequence("s2 csv awk", "s1 log grep", "s3 backup tar", "s4 a b"), "in order")


def test_effort_bounds_the_span():
    two_apart = BEFORE.replace_skill(0, "sed").replace_skill(2, "rsync")
    refused("skill", "low", two_apart, "effort low edits one pair, this plan edits 2")
    refused("skill", "high", two_apart, r"one contiguous span, this plan edits positions \[0, 2\]")
    assert plan("skill", "max", two_apart).edited_positions == (0, 2)


def test_a_plan_changes_something():
    for axis in Axis:
        refused(axis, "max", BEFORE, "changes nothing")


# An oracle that says the same from the other side: it builds, from `before`, every plan an axis and effort allow.
# The world is small (two scenarios, two skills, ids a..d), so that legal plans are as likely as illegal ones.
WORLD = [Step(id=i, scenario=s, skill=k) for i in "abcd" for s in ("x", "y") for k in ("p", "q")]


def spans(positions, effort):
    """Whether a set of positions in the child is allowed."""
    if effort == "low":
        return len(positions) == 1
    if effort == "high":
        return sorted(positions) == list(range(min(positions), max(positions) + 1))
    return True


def replacements(before, field, effort):
    values = ("x", "y") if field == "scenario" else ("p", "q")
    for chosen in product(values, repeat=len(before)):
        steps = tuple(step.model_copy(update={field: v}) for step, v in zip(before.steps, chosen, strict=True))
        changed = {i for i, (old, new) in enumerate(zip(before.steps, steps, strict=True)) if old != new}
        if changed and spans(changed, effort):
            yield steps


def is_insertion(before, steps, effort):
    """Whether taking the steps with foreign ids out leaves `before`, tried by walking both side by side."""
    rest = list(before.steps)
    inserted = set()
    for i, step in enumerate(steps):
        if rest and step == rest[0]:
            rest.pop(0)
        elif step.id in before.ids:
            return False
        else:
            inserted.add(i)
    return not rest and bool(inserted) and spans(inserted, effort)


def allowed(axis, effort, before, after):
    if axis == "length":
        return is_insertion(before, after.steps, effort)
    return after.steps in set(replacements(before, axis, effort))


worlds = st.lists(st.sampled_from(WORLD), min_size=1, max_size=4, unique_by=lambda step: step.id).map(
    lambda steps: Sequence(steps=tuple(steps))
)


@st.composite
def differences(draw):
    """An axis, a sequence and another one: edits of it, mostly the axis' own and otherwise anything."""
    axis = draw(st.sampled_from([a.value for a in Axis]))
    before = after = draw(worlds)
    own = {"length": "insert"}.get(axis, axis)
    for edit in draw(
        st.lists(st.sampled_from([own] * 16 + ["scenario", "skill", "insert", "drop", "turn"]), min_size=1, max_size=3)
    ):
        position = draw(st.integers(0, len(after) - 1))
        if edit == "scenario":
            after = after.replace_scenario(position, draw(st.sampled_from("xy")))
        elif edit == "skill":
            after = after.replace_skill(position, draw(st.sampled_from("pq")))
        elif edit == "insert":
            new = draw(st.sampled_from(WORLD))
            after = after if new.id in after.ids else after.insert(position, (new,))
        elif edit == "drop" and len(after) > 1:
            after = Sequence(steps=after.steps[:position] + after.steps[position + 1 :])
        else:
            after = Sequence(steps=after.steps[position:] + after.steps[:position])
    return axis, before, after


@settings(max_examples=400)
@given(differences(), st.sampled_from([effort.value for effort in Effort]))
def test_accepts_exactly_what_axis_and_effort_allow(difference, effort):
    axis, before, after = difference
    legal = allowed(axis, effort, before, after)
    event(f"{axis} {effort} {'legal' if legal else 'illegal'}")
    if legal:
        made = plan(axis, effort, after, before)
        assert Plan.model_validate_json(made.model_dump_json()) == made
    else:
        with pytest.raises(ValidationError):
            plan(axis, effort, after, before)
