"""How many clean runs it takes to rule flakiness out: the posterior of a task's flake rate, and when to stop.

The prior is a mixture: with probability 1 - w the task is deterministic (flake rate exactly 0), with probability w its
flake rate t is anything in [0, 1], all equally likely. n runs without a difference have probability 1 under the first
and the integral of (1 - t)^n, 1 / (n + 1), under the second. So, by Bayes' rule,

    P(t > f | n clean runs) = w (1 - f)^(n + 1) / (n + 1)  /  (1 - w + w / (n + 1)).

It falls with n, and the test ends at the first n where it is at most 1 - confidence. The conjugate uniform prior and
its posterior Beta(1, n + 1) are textbook (A. Gelman et al., Bayesian Data Analysis, 3rd ed., section 2.4: a single
parameter's binomial model); a point mass beside it is the "spike and slab" of T. J. Mitchell and J. J. Beauchamp,
"Bayesian Variable Selection in Linear Regression", JASA 83 (1988).
"""

from __future__ import annotations

from typing import Final

_STEPS: Final = 60


def doubt(weight: float, clean: int, flakiness: float) -> float:
    """P(flake rate > `flakiness` | `clean` runs without a difference).

    Args:
        weight: The prior probability w that the task is not deterministic, in [0, 1].
        clean: Runs without a difference, n.
        flakiness: The rate f, in [0, 1].
    """
    slab = weight / (clean + 1)
    whole = 1 - weight + slab
    return slab * (1 - flakiness) ** (clean + 1) / whole if whole else 0.0


def runs_needed(weight: float, flakiness: float, confidence: float, *, most: int) -> int:
    """The fewest clean runs after which a flake rate above `flakiness` has a probability of at most 1 - `confidence`.

    Args:
        weight: See `doubt`.
        flakiness: The rate to rule out.
        confidence: How sure to be.
        most: An upper bound on the answer.
    """
    return next((n for n in range(1, most) if doubt(weight, n, flakiness) <= 1 - confidence), most)


def bound(weight: float, clean: int, confidence: float) -> float:
    """The least flake rate that is ruled out at `confidence` after so many clean runs; 0 when any is."""
    if doubt(weight, clean, 0.0) <= 1 - confidence:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if doubt(weight, clean, middle) <= 1 - confidence else (middle, high)
    return high
