"""Limits hold, also with calls under way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.budget import Budget, Spend
from agents.errors import BudgetExceededError


def test_calls_under_way_count() -> None:
    budget = Budget(calls=2)
    with (
        budget.call(Spend(calls=1)),
        budget.call(Spend(calls=1)),
        pytest.raises(BudgetExceededError, match=r"limit of calls 2; spent so far: 0 calls.*2 call\(s\) under way"),
    ):
        budget.check(Spend(calls=1))
    assert budget.spent.calls == 2


def test_a_failed_call_gives_back_its_estimate() -> None:
    budget = Budget(dollars=1.0)
    with pytest.raises(RuntimeError), budget.call(Spend(calls=1, dollars=0.9)):
        raise RuntimeError
    assert budget.spent == Spend(calls=1)
    budget.check(Spend(dollars=0.9))


def test_what_an_earlier_part_of_the_run_spent_counts() -> None:
    with pytest.raises(BudgetExceededError, match=r"limit of dollars 1.0; spent so far: 9 calls, 30 tokens, \$0.9500"):
        Budget(dollars=1.0, spent=Spend(calls=9, input_tokens=30, dollars=0.95)).check(Spend(dollars=0.1))


def test_unpriced_calls_are_named() -> None:
    assert "(2 calls without a known price)" in str(Spend(calls=2, unpriced_calls=2))


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=30), st.integers(0, 300))
def test_no_call_starts_beyond_the_limit_when_estimates_are_right(sizes: list[tuple[int, int]], limit: int) -> None:
    budget = Budget(tokens=limit)
    for read, written in sizes:
        size = Spend(calls=1, input_tokens=read, output_tokens=written)
        try:
            with budget.call(size) as ticket:
                ticket.spent = size
        except BudgetExceededError:
            assert budget.spent.tokens + size.tokens > limit
    assert budget.spent.tokens <= limit
