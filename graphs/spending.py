"""What each attempt at an environment took, and what a valid one costs: tokens, dollars, seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evolution.statistics import wilson_interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evolution.journal import Journal, Usage
    from graphs.generations import Result

JUDGED = frozenset({"accepted", "invalid", "miscalibrated"})


@dataclass(frozen=True, slots=True)
class AttemptSpending:
    """One attempt of the environment loop.

    Attributes:
        lineage: Whose.
        generation: Which.
        axis: Along which axis.
        attempt: Its number, from 1.
        result: `accepted`, or the class it was rejected with.
        code: The finding it was rejected by; "" when accepted.
        usage: What its model calls took.
        gate_seconds: Seconds of all gates, added up.
    """

    lineage: str
    generation: int
    axis: str
    attempt: int
    result: str
    code: str
    usage: Usage
    gate_seconds: float


@dataclass(frozen=True, slots=True)
class Spending:
    """A run's attempts and what they came to.

    Attributes:
        attempts: Every attempt of the environment loop, in order.
        whole: All model calls of the run, planning included.
    """

    attempts: tuple[AttemptSpending, ...]
    whole: Usage

    @property
    def accepted(self) -> int:
        """Valid environments."""
        return sum(attempt.result == "accepted" for attempt in self.attempts)

    @property
    def first_attempts(self) -> tuple[int, int]:
        """Of the first attempts at a plan: how many were valid, and how many were judged."""
        first = [a.result == "accepted" for a in self.attempts if a.attempt == 1 and a.result in JUDGED]
        return sum(first), len(first)

    @property
    def assignments(self) -> tuple[int, int]:
        """Of the plans worked on: how many came to a valid environment within their attempts, and their number."""
        ends: dict[tuple[str, int, str], bool] = {}
        for attempt in self.attempts:
            if attempt.result in JUDGED:
                key = (attempt.lineage, attempt.generation, attempt.axis)
                ends[key] = ends.get(key, False) or attempt.result == "accepted"
        return sum(ends.values()), len(ends)

    def lines(self) -> Iterator[str]:
        """For a run's closing lines."""
        if not self.attempts:
            return
        good, of = self.first_attempts
        low, high = wilson_interval(good, of)
        yield f"valid at first attempt  {good} of {of}   (95 % Wilson interval {low:.1%} to {high:.1%})"
        count = len(self.attempts)
        tokens = sum(a.usage.input_tokens + a.usage.output_tokens for a in self.attempts)
        dollars, seconds = sum(a.usage.cost_usd for a in self.attempts), sum(a.usage.seconds for a in self.attempts)
        gates = sum(a.gate_seconds for a in self.attempts)
        each = f"{tokens / count:,.0f} tokens, ${dollars / count:.4f}, {seconds / count:.1f} s of models"
        yield f"per attempt             {each}, {gates / count:.1f} s of gates   ({count} attempts)"
        if self.accepted:
            whole = self.whole
            each = f"{(whole.input_tokens + whole.output_tokens) / self.accepted:,.0f} tokens"
            took = f"{whole.seconds / self.accepted:.1f} s of models, {gates / self.accepted:.1f} s of gates"
            yield f"per valid environment   {each}, ${whole.cost_usd / self.accepted:.4f}, {took}, planning included"


def spending(journal: Journal, results: Sequence[Result]) -> Spending:
    """Puts together what the journal and the results say of a run."""
    found = []
    for result in results:
        for attempt in result.history:
            if attempt["loop"] != "environment":
                continue
            place = f"{result.lineage}/g{result.generation:03d}/{attempt['axis']}"
            found.append(
                AttemptSpending(
                    lineage=result.lineage,
                    generation=result.generation,
                    axis=attempt["axis"],
                    attempt=attempt["attempt"],
                    result=attempt["result"],
                    code=attempt["code"],
                    usage=journal.usage(f"{place}/evolver/{attempt['attempt']}/"),
                    gate_seconds=journal.usage(f"{place}/verdicts/{attempt['attempt']}/", kind="verdicts").seconds,
                )
            )
    return Spending(tuple(found), journal.usage())
