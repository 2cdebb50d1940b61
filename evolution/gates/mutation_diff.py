"""How two texts differ, shown in a few lines and found in bounded time."""

from __future__ import annotations

import difflib
from itertools import zip_longest
from typing import Final

from evolution.gates.outcomes import MAX_LINE

MAX_DIFF_LINES: Final = 14
MAX_COMPARED: Final = 1 << 20
"""Bytes; of larger texts only their sizes are told."""
MAX_LINES: Final = 4000
"""Lines a diff is made of; of longer texts the lines at the same numbers are compared."""


def diff(before: bytes, after: bytes, name: str, *, lines: int = MAX_DIFF_LINES) -> str:
    """A unified diff, cut; of what is no text, or much of it, only that it differs."""
    sizes = f"{len(before)} bytes, with the change {len(after)} bytes"
    if b"\0" in before[:8192] or b"\0" in after[:8192]:
        return f"  {name}: {sizes}; not text"
    if len(before) + len(after) > MAX_COMPARED:
        return f"  {name}: {sizes}; too much to be compared"
    old, new = (text.decode("utf-8", "replace").splitlines() for text in (before, after))
    if max(len(old), len(new)) > MAX_LINES:
        found = _by_number(old, new)
    else:
        found = list(difflib.unified_diff(old, new, f"{name} (reference)", f"{name} (broken)", lineterm="", n=0))
    if not found:
        return f"  {name}: differs only in its line ends"
    cut = [f"  {line[:MAX_LINE]}" for line in found[:lines]]
    more = len(found) - lines
    return "\n".join(cut + ([f"  … {more} more lines differ"] if more > 0 else []))


def _by_number(old: list[str], new: list[str]) -> list[str]:
    found: list[str] = []
    for number, (before, after) in enumerate(zip_longest(old, new), start=1):
        if before != after:
            sides = (("-", before), ("+", after))
            found += [f"@@ {number} @@", *(f"{sign}{line}" for sign, line in sides if line is not None)]
    return found
