"""Test units a verifier reports in CTRF (Common Test Report Format), read tolerantly: the file is optional."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_UNITS = 10_000
MAX_MESSAGE = 500
"""Characters of a unit's message that are kept."""
_STATUSES = ("passed", "failed", "skipped", "pending")


@dataclass(frozen=True, slots=True)
class Unit:
    """One test unit.

    Attributes:
        name: `<step id>::<unit>` in evolved tasks; anything elsewhere.
        status: `passed`, `failed`, `skipped`, `pending` or `other`; only `passed` is a pass.
        message: What the verifier says of it, cut.
    """

    name: str
    status: str
    message: str = ""

    @property
    def passed(self) -> bool:
        """Whether it passed; a skipped or pending unit did not."""
        return self.status == "passed"


def parse_ctrf(content: bytes) -> tuple[Unit, ...]:
    """The units of a CTRF file in its order; none when it is malformed, and entries without a name are left out."""
    try:
        report = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        return ()
    results = report.get("results") if isinstance(report, dict) else None
    tests = results.get("tests") if isinstance(results, dict) else None
    if not isinstance(tests, list):
        return ()
    return tuple(unit for entry in tests[:MAX_UNITS] if (unit := _unit(entry)) is not None)


def statuses(units: Iterable[Unit]) -> dict[str, str]:
    """Status by name, sorted; a name that comes twice has passed only when it passed each time."""
    merged: dict[str, str] = {}
    for unit in units:
        if merged.get(unit.name, "passed") == "passed":
            merged[unit.name] = unit.status
    return dict(sorted(merged.items()))


def _unit(entry: object) -> Unit | None:
    if not isinstance(entry, dict):
        return None
    name, status = entry.get("name"), entry.get("status")
    if not isinstance(name, str) or not name:
        return None
    message = entry.get("message")
    return Unit(
        name=_text(name),
        status=status if isinstance(status, str) and status in _STATUSES else "other",
        message=_text(message[:MAX_MESSAGE]) if isinstance(message, str) else "",
    )


def _text(text: str) -> str:
    """Text that files and logs can hold: half of a surrogate pair, which JSON has escapes for, is replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")
