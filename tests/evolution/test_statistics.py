"""The Wilson interval: published numbers, and at its bounds the score test is exactly at z."""

from math import isclose, sqrt
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolution.statistics import wilson_interval


def test_worked_numbers():
    # Newcombe (1998), table I, method 3 (score without continuity correction).
    for successes, trials, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (1, 29, 0.0061, 0.1718)):
        assert wilson_interval(successes, trials) == pytest.approx((low, high), abs=5e-5)
    assert wilson_interval(0, 20) == pytest.approx((0, 0.1611), abs=5e-5)


trials = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(trials, st.floats(0.5, 0.999))
def test_at_the_bounds_the_score_test_is_at_z(pair, confidence):
    k, n = pair
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    low, high = wilson_interval(k, n, confidence=confidence)
    assert 0 <= low <= k / n <= high <= 1
    for bound, is_bound in ((low, k > 0), (high, k < n)):
        if is_bound:
            score = abs(k / n - bound) / sqrt(bound * (1 - bound) / n)
            assert isclose(score, z, rel_tol=1e-6)


@given(trials)
def test_failures_mirror_successes(pair):
    k, n = pair
    low, high = wilson_interval(k, n)
    assert wilson_interval(n - k, n) == pytest.approx((1 - high, 1 - low))


@given(trials)
def test_more_confidence_is_wider(pair):
    narrow, wide = wilson_interval(*pair, confidence=0.8), wilson_interval(*pair, confidence=0.99)
    assert wide[0] <= narrow[0]
    assert narrow[1] <= wide[1]


def test_without_trials_nothing_is_known():
    assert wilson_interval(0, 0) == (0, 1)


@pytest.mark.parametrize("pair", [(-1, 3), (4, 3), (1, 0), (0, -1)])
def test_impossible_counts_are_refused(pair):
    with pytest.raises(ValueError, match=f"{pair[0]} successes of {pair[1]} trials"):
        wilson_interval(*pair)
