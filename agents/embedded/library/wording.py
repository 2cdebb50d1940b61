"""Small pieces of language and number that scenarios and skills write with."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agents.embedded.library.framework import Value


def code(text: object) -> str:
    """The text as Markdown code."""
    return f"`{text}`"


def either(values: Sequence[object]) -> str:
    """`a`, `b` or `c`."""
    return _joined(values, "or")


def both(values: Sequence[object]) -> str:
    """`a`, `b` and `c`."""
    return _joined(values, "and")


def _joined(values: Sequence[object], word: str) -> str:
    marked = [code(value) for value in values]
    return marked[0] if len(marked) == 1 else f"{', '.join(marked[:-1])} {word} {marked[-1]}"


def iso(seconds: int) -> str:
    """Seconds since the epoch as `2024-03-05T14:03:22Z`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def clock(minutes: int) -> str:
    """Minutes since midnight as `07:05`; 24:00 is the day's end."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def number(value: Value) -> int:
    """A value that a table's role promises to be a number."""
    if isinstance(value, int):
        return value
    raise TypeError(f"expected a number in this column, got {value!r}")


def nearest_rank(ordered: Sequence[int], percent: int) -> int:
    """The nearest-rank percentile: the value at place ceil(percent / 100 * n) of the ascending list, counted from 1."""
    place = -(-percent * len(ordered) // 100)
    return ordered[max(1, place) - 1]


def round_sensibly(value: int) -> int:
    """The value to two leading digits, as a person who names a threshold would."""
    scale = int("1".ljust(len(str(value)) - 1, "0"))
    return value // scale * scale


def distinct(values: Iterable[Value]) -> list[Value]:
    """The distinct values in ascending order."""
    return sorted(set(values), key=str)
