"""What a run came to, in figures: the funnel by gate and class, valid rate, D_T per generation."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

from evolution.statistics import wilson_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Funnel:
    """Attempts of the environment loop, by what became of them.

    Attributes:
        accepted: Environments that passed every gate.
        rejected: How many were rejected, by (class, gate or role that did it).
        plans_rejected: Plans turned down before anything was built.
    """

    accepted: int
    rejected: Mapping[tuple[str, str], int]
    plans_rejected: int

    @property
    def judged(self) -> int:
        """Environments that were built and judged; failures of ours (`infrastructure`) are left out."""
        return self.accepted + sum(n for (kind, _), n in self.rejected.items() if kind != "infrastructure")

    @property
    def valid_rate(self) -> float:
        """Accepted out of judged; 0 when none was judged."""
        return self.accepted / self.judged if self.judged else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The valid rate's 95 % Wilson interval."""
        return wilson_interval(self.accepted, self.judged)


def funnel(attempts: Iterable[Mapping[str, object]]) -> Funnel:
    """Counts attempts (mappings with `loop`, `result` and `gate`, see `graphs.state.Attempt`)."""
    accepted = plans = 0
    rejected: Counter[tuple[str, str]] = Counter()
    for attempt in attempts:
        good = attempt["result"] == "accepted"
        if attempt["loop"] == "plan":
            plans += not good
        elif good:
            accepted += 1
        else:
            rejected[(str(attempt["result"]), str(attempt["gate"]))] += 1
    return Funnel(accepted, dict(sorted(rejected.items())), plans)


@dataclass(frozen=True, slots=True)
class GenerationDifficulty:
    """D_T of the environments of one generation, nats.

    Attributes:
        generation: 0 for the seeds.
        count: How many environments.
        mean: Their mean D_T.
        lowest: The least.
        highest: The most.
    """

    generation: int
    count: int
    mean: float
    lowest: float
    highest: float


def by_generation(values: Mapping[int, list[float]]) -> tuple[GenerationDifficulty, ...]:
    """D_T by generation; generations without a value are left out."""
    return tuple(
        GenerationDifficulty(g, len(found), fsum(found) / len(found), min(found), max(found))
        for g, found in sorted(values.items())
        if found
    )
