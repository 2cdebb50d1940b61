"""What gate `leak` did not look at, and says so: bounds protect this machine, and must not hide what they leave out."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from evolution.gates.outcomes import finding

if TYPE_CHECKING:
    from evolution.verdict import Finding

MOST_NAMED: Final = 5
KINDS: Final = {
    "left_out": "files of the image were not read: there are more of them, or larger ones, than there is room for",
    "cut": "files were read in part: they hold more than there is room for",
    "doubts_dropped": "files that hold what the reference solution writes were not tried: they are too many",
}
"""Figures in a verdict's `measured`, with what they count."""


class Unseen:
    """Counts what was left out, by kind."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._names: dict[str, dict[str, None]] = {kind: {} for kind in KINDS}

    def note(self, kind: str, name: str, number: int = 1) -> None:
        """Takes note of something; what has been named before counts once.

        Args:
            kind: One of `KINDS`.
            name: What was left out, or where.
            number: How many things are meant.
        """
        names = self._names[kind]
        if name in names:
            return
        self._counts[kind] += number
        names[name] = None

    def measured(self) -> dict[str, float]:
        """How many of each kind."""
        return {kind: float(self._counts[kind]) for kind in KINDS}

    def findings(self, gate: str) -> list[Finding]:
        """One of each kind there is; none counts against the task."""
        told = []
        for kind, means in KINDS.items():
            if self._counts[kind]:
                shown = ", ".join(list(self._names[kind])[:MOST_NAMED])
                said = finding(gate, "unseen", f"{self._counts[kind]} {means}: {shown}")
                told.append(said.model_copy(update={"suppressed": "it was not looked at"}))
        return told
