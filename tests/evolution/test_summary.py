"""The funnel and D_T per generation."""

from math import isclose

from hypothesis import given
from hypothesis import strategies as st

from evolution.statistics import wilson_interval
from evolution.summary import by_generation, funnel


def attempt(loop, result, gate=""):
    return {"loop": loop, "result": result, "gate": gate}


def test_counts_by_loop_class_and_gate():
    counted = funnel(
        [
            attempt("plan", "rejected", "critic"),
            attempt("plan", "accepted"),
            attempt("environment", "invalid", "oracle"),
            attempt("environment", "invalid", "oracle"),
            attempt("environment", "infrastructure", "build"),
            attempt("environment", "accepted"),
        ]
    )
    assert counted.accepted == 1
    assert counted.plans_rejected == 1
    assert counted.rejected == {("infrastructure", "build"): 1, ("invalid", "oracle"): 2}
    assert counted.judged == 3  # ours are no judgement of the environment
    assert counted.valid_rate == 1 / 3
    assert counted.interval == wilson_interval(1, 3)


def test_of_nothing():
    counted = funnel([])
    assert (counted.accepted, counted.judged, counted.valid_rate, counted.interval) == (0, 0, 0, (0, 1))


attempts = st.lists(
    st.builds(
        attempt,
        st.sampled_from(["plan", "environment"]),
        st.sampled_from(["accepted", "rejected", "invalid", "miscalibrated", "infrastructure"]),
        st.sampled_from(["oracle", "noop"]),
    )
)


@given(attempts, st.randoms(use_true_random=False))
def test_every_attempt_is_counted_once_in_any_order(attempts, random):
    counted = funnel(attempts)
    accepted_plans = sum(a["loop"] == "plan" and a["result"] == "accepted" for a in attempts)
    total = counted.accepted + sum(counted.rejected.values()) + counted.plans_rejected + accepted_plans
    assert total == len(attempts)
    assert 0 <= counted.valid_rate <= 1
    again = funnel(random.sample(attempts, len(attempts)))
    assert again == counted
    assert list(again.rejected) == list(counted.rejected)


def test_difficulty_by_generation():
    seeds, first = by_generation({1: [4.0, 6.0, 8.0], 0: [2.0], 2: []})
    assert (seeds.generation, seeds.count, seeds.mean) == (0, 1, 2.0)
    assert (first.generation, first.count, first.mean, first.lowest, first.highest) == (1, 3, 6.0, 4.0, 8.0)


@given(st.dictionaries(st.integers(0, 5), st.lists(st.floats(0, 1e6))))
def test_the_mean_lies_between(values):
    for row in by_generation(values):
        assert row.lowest <= row.mean <= row.highest or isclose(row.lowest, row.highest)
        assert row.count == len(values[row.generation]) > 0
