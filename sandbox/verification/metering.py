"""Adds up how long verifiers ran, for whoever wants to know what the rest of a job costs."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class Meter:
    """Seconds of verifiers' own scripts, and how many ran."""

    seconds: float = 0.0
    runs: int = 0


_METER: ContextVar[Meter | None] = ContextVar("verifier_meter", default=None)


@contextmanager
def metered() -> Iterator[Meter]:
    """Counts the verifiers that run inside of the `with` block, in tasks started there too."""
    meter = Meter()
    token = _METER.set(meter)
    try:
        yield meter
    finally:
        _METER.reset(token)


def count(seconds: float) -> None:
    """A verifier ran for so many seconds."""
    meter = _METER.get()
    if meter is not None:
        meter.seconds += seconds
        meter.runs += 1
