"""Small statistics that a run reports."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist


def wilson_interval(successes: int, trials: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """The Wilson score interval of a proportion (Wilson, 1927).

    Args:
        successes: k, 0 ≤ k ≤ n.
        trials: n; with 0 nothing is known and the interval is (0, 1).
        confidence: Coverage, in (0, 1).

    Raises:
        ValueError: k is outside 0..n.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes of {trials} trials")
    if trials == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = successes / trials
    centre = share + z * z / (2 * trials)
    half = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    low = 0.0 if successes == 0 else (centre - half) / scale
    high = 1.0 if successes == trials else (centre + half) / scale
    return low, high
