"""Whatever the sequence, the axis, the effort and the seed: an edit keeps to the rules and makes the sequence harder."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.embedded import library
from agents.embedded.assignment import Figures
from agents.embedded.conversation import CannotError
from agents.embedded.edits import LONGEST, Scale, Wish, all_pairs, insert, pair, replace
from evolution.plan import Axis, Effort, Plan
from evolution.sequence import Sequence

PAIRS = [pair(step) for step in all_pairs("x")]
NEW = tuple(f"g5{letter}" for letter in "abcdef")


@st.composite
def sequences(draw):
    chosen = draw(st.lists(st.sampled_from(PAIRS), min_size=1, max_size=LONGEST, unique=True))
    return Sequence.model_validate(
        {"steps": [{"id": f"s{i}", "scenario": scenario, "skill": skill} for i, (scenario, skill) in enumerate(chosen)]}
    )


figures = st.one_of(
    st.just(Figures({}, {})),
    st.integers(0, 2**32).map(
        lambda seed: Figures(
            {name: random.Random(f"{seed}{name}").uniform(0, 9) for name in library.scenario_names()},
            {
                name: {skill: random.Random(f"{seed}{name}{skill}").uniform(0, 9) for skill in library.skill_names()}
                for name in library.scenario_names()
            },
        )
    ),
)


@settings(max_examples=150, deadline=None)
@given(sequences(), st.sampled_from(Axis), st.sampled_from(Effort), st.integers(0, 10**6), figures)
def test_edits_keep_to_axis_and_effort_and_are_harder(before, axis, effort, seed, figures):
    scale, wish = Scale(figures), Wish(effort, NEW)
    edit = (
        (lambda rng: insert(before, wish, scale, rng))
        if axis is Axis.LENGTH
        else (lambda rng: replace(before, axis, wish, scale, rng))
    )
    try:
        after = edit(random.Random(seed))
    except CannotError:
        assert axis is not Axis.LENGTH or len(before) == LONGEST or len(PAIRS) <= len(before)
        return
    assert after == edit(random.Random(seed))
    plan = Plan(axis=axis, effort=effort, before=before, after=after)
    assert len({pair(step) for step in after.steps}) == len(after)
    assert len(after) <= LONGEST
    assert all(library.knows(step) for step in after.steps)
    if axis is Axis.LENGTH:
        assert after.steps[-1] == before.steps[-1], "an inserted step has to be needed by one of the parent's"
    else:
        old = {step.id: step for step in before.steps}
        assert all(scale.gain(old[step.id], step) > 0 for step in plan.edited_steps)


def test_pairs_that_were_turned_down_are_not_proposed_again():
    before = Sequence.model_validate({"steps": [{"id": "s0", "scenario": PAIRS[0][0], "skill": PAIRS[0][1]}]})
    avoid = frozenset(PAIRS[1:-1])
    after = insert(before, Wish(Effort.MAX, NEW, avoid), Scale(Figures({}, {})), random.Random(1))
    assert [pair(step) for step in after.steps] == [PAIRS[-1], PAIRS[0]]
    with pytest.raises(CannotError, match="turned down"):
        insert(before, Wish(Effort.LOW, NEW, frozenset(PAIRS)), Scale(Figures({}, {})), random.Random(1))
