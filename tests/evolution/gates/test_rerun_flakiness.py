"""The sequential test: its formula against a sum over the prior, its stopping rule, what it finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolution.gates.rerun_flakiness import bound, doubt, runs_needed
from evolution.gates.rerun_signs import KINDS, STEADY

WEIGHTS = st.floats(0, 1)
RATES = st.floats(0.01, 0.9)
CELLS = 800


def summed(weight: float, clean: int, flakiness: float) -> float:
    """The same posterior from a fine grid of flake rates."""
    rates = [(cell + 0.5) / CELLS for cell in range(CELLS)]
    masses = [weight / CELLS * (1 - rate) ** clean for rate in rates]
    whole = 1 - weight + sum(masses)
    return sum(mass for rate, mass in zip(rates, masses, strict=True) if rate > flakiness) / whole


@given(WEIGHTS, st.integers(0, 40), RATES)
def test_doubt_is_the_posterior(weight: float, clean: int, flakiness: float) -> None:
    assert doubt(weight, clean, flakiness) == pytest.approx(summed(weight, clean, flakiness), abs=2e-2)


@given(WEIGHTS, RATES, st.floats(0.6, 0.99), st.integers(2, 200))
def test_it_stops_at_the_first_number_that_is_enough(weight, flakiness, confidence, most) -> None:
    needed = runs_needed(weight, flakiness, confidence, most=most)
    assert 1 <= needed <= most
    if needed < most:
        assert doubt(weight, needed, flakiness) <= 1 - confidence
    assert all(doubt(weight, fewer, flakiness) > 1 - confidence for fewer in range(1, needed))


@given(WEIGHTS, st.integers(1, 60), st.floats(0.6, 0.99))
def test_the_bound_is_where_the_doubt_meets_the_confidence(weight, clean, confidence) -> None:
    least = bound(weight, clean, confidence)
    assert 0 <= least <= 1
    assert doubt(weight, clean, least) <= 1 - confidence + 1e-6
    assert least == 0 or doubt(weight, clean, least * 0.99) >= 1 - confidence - 1e-6
    assert bound(weight, clean + 1, confidence) <= least + 1e-9


def test_steady_tasks_are_cheap_and_suspicious_ones_are_not_let_through() -> None:
    assert runs_needed(STEADY, 0.1, 0.95, most=40) <= 2
    chance = next(kind for kind in KINDS if kind.name == "chance")
    suspicious = runs_needed(1 - (1 - STEADY) * (1 - chance.weight), 0.1, 0.95, most=40)
    assert 10 <= suspicious <= 30
    assert 1 - (1 - 0.2) ** suspicious >= 0.95
    assert runs_needed(1.0, 0.1, 0.95, most=40) == 28
