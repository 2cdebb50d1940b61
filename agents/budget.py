"""Limits in dollars, tokens and calls, checked before a call is made."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.errors import BudgetExceededError

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Spend:
    """What model calls cost.

    Attributes:
        calls: Requests made, retries included.
        input_tokens: Tokens read; cached ones are among them, never on top.
        output_tokens: Tokens written.
        dollars: US dollars of the calls whose price is known.
        unpriced_calls: Calls of models without a known price: their dollars are missing above.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0
    unpriced_calls: int = 0

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Spend) -> Spend:
        return Spend(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.dollars + other.dollars,
            self.unpriced_calls + other.unpriced_calls,
        )

    def __str__(self) -> str:
        unpriced = f" ({self.unpriced_calls} calls without a known price)" if self.unpriced_calls else ""
        return f"{self.calls} calls, {self.tokens} tokens, ${self.dollars:.4f}{unpriced}"


@dataclass(slots=True)
class Ticket:
    """A call under way: holds its estimate until what it really cost is known."""

    estimate: Spend
    spent: Spend = Spend(calls=1)


class Budget:
    """What all calls of a run may cost together; calls in flight count with their estimate.

    Args:
        dollars: Limit in US dollars; `None` for no limit. Calls without a known price cannot count here.
        tokens: Limit of tokens read and written.
        calls: Limit of requests, retries included.
        spent: What an earlier part of the same run has spent already.
    """

    def __init__(
        self,
        *,
        dollars: float | None = None,
        tokens: int | None = None,
        calls: int | None = None,
        spent: Spend | None = None,
    ) -> None:
        self.dollars = dollars
        self.tokens = tokens
        self.calls = calls
        self._spent = spent or Spend()
        self._open: list[Ticket] = []

    @property
    def spent(self) -> Spend:
        """What finished calls cost."""
        return self._spent

    @contextmanager
    def call(self, estimate: Spend) -> Iterator[Ticket]:
        """Holds `estimate` for the length of a call; afterwards counts `ticket.spent`, one bare call when unset.

        Raises:
            BudgetExceededError: The call would pass a limit.
        """
        self.check(estimate)
        ticket = Ticket(estimate)
        self._open.append(ticket)
        try:
            yield ticket
        finally:
            # By identity: two open tickets with equal estimates are equal values.
            self._open = [other for other in self._open if other is not ticket]
            self._spent += ticket.spent

    def check(self, estimate: Spend) -> None:
        """Asks whether a call of this size may be made.

        Raises:
            BudgetExceededError: It would pass a limit: says which, and what was spent.
        """
        total = sum((ticket.estimate for ticket in self._open), self._spent) + estimate
        passed = [
            f"{name} {limit}"
            for name, limit, value in (
                ("dollars", self.dollars, total.dollars),
                ("tokens", self.tokens, total.tokens),
                ("calls", self.calls, total.calls),
            )
            if limit is not None and value > limit
        ]
        if passed:
            raise BudgetExceededError(
                f"the next call would pass the limit of {' and '.join(passed)}; spent so far: {self._spent}, "
                f"{len(self._open)} call(s) under way, the next one is estimated at {estimate}. "
                "Raise the limit and resume: finished calls are replayed, not paid again."
            )
