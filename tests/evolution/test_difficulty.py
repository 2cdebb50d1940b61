"""D_T(ξ): additive, never negative, longer is harder, and the number that comes out by hand."""

from math import isclose, log

from hypothesis import given
from hypothesis import strategies as st

from evolution.difficulty import difficulty
from evolution.reference import FrequencyTable
from evolution.sequence import Sequence, Step

NAMES = ("a", "b", "c", "unseen")
TABLES = st.dictionaries(
    st.sampled_from(NAMES[:3]), st.dictionaries(st.sampled_from(NAMES[:3]), st.integers(0, 50)), min_size=1
).map(lambda counts: FrequencyTable(domain="d", counts=counts, source="s"))
PAIRS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), min_size=1, max_size=6)


def sequence(pairs, prefix="s"):
    return Sequence(steps=tuple(Step(id=f"{prefix}{i}", scenario=s, skill=k) for i, (s, k) in enumerate(pairs)))


def test_hand_worked():
    # N = 4, V = 2 scenarios: p(x) = (3+1)/7, p(y) = (1+1)/7.  Skills: u 3, v 1: p(u) = 4/7, p(v) = 2/7.
    # β = 10: p(u|x) = (3 + 40/7)/13 = 61/91, p(v|y) = (1 + 20/7)/11 = 27/77.
    reference = FrequencyTable(domain="d", counts={"x": {"u": 3}, "y": {"v": 1}}, source="s")
    measured = difficulty(sequence([("x", "u"), ("y", "v")]), reference)
    assert isclose(measured.total, -log(4 / 7 * 61 / 91 * 2 / 7 * 27 / 77))
    assert isclose(measured.scenario, -log(4 / 7 * 2 / 7))
    assert isclose(measured.skill, -log(61 / 91 * 27 / 77))
    assert measured.length == 2
    assert [step.step for step in measured.steps] == ["s0", "s1"]


@given(TABLES, PAIRS)
def test_is_the_sum_of_its_steps_and_of_its_parts(reference, pairs):
    whole = difficulty(sequence(pairs), reference)
    alone = [difficulty(sequence([pair]), reference).total for pair in pairs]
    assert isclose(whole.total, sum(alone), abs_tol=1e-9)
    assert isclose(whole.total, whole.scenario + whole.skill, abs_tol=1e-9)


@given(TABLES, PAIRS)
def test_no_term_is_negative(reference, pairs):
    for step in difficulty(sequence(pairs), reference).steps:
        assert step.scenario >= 0
        assert step.skill >= 0


@given(TABLES, PAIRS, st.integers(0, 6), st.sampled_from(NAMES), st.sampled_from(NAMES))
def test_an_inserted_pair_makes_it_strictly_harder(reference, pairs, position, scenario, skill):
    before = sequence(pairs)
    after = before.insert(min(position, len(before)), (Step(id="new", scenario=scenario, skill=skill),))
    assert difficulty(after, reference).total > difficulty(before, reference).total


@given(TABLES, PAIRS)
def test_ids_do_not_count(reference, pairs):
    assert difficulty(sequence(pairs, "s"), reference).total == difficulty(sequence(pairs, "other-"), reference).total


@given(TABLES, PAIRS, st.randoms(use_true_random=False))
def test_order_does_not_count(reference, pairs, random):
    shuffled = random.sample(pairs, len(pairs))
    assert difficulty(sequence(shuffled), reference).total == difficulty(sequence(pairs), reference).total
