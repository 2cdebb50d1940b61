"""Which of many possible changes are tried: fair mixes, drawn before any of them is made."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator

T = TypeVar("T")


def in_turns(candidates: Iterable[tuple[str, T]], rng: random.Random, *, shuffled: bool = True) -> Iterator[T]:
    """All candidates, each with its kind before it, in turns from each kind.

    Args:
        candidates: The candidates.
        rng: Decides which kind comes first.
        shuffled: Whether it decides what comes first of a kind, too; else they stay in order.
    """
    kinds: dict[str, list[T]] = {}
    for kind, item in candidates:
        kinds.setdefault(kind, []).append(item)
    order = sorted(kinds)
    rng.shuffle(order)
    if shuffled:
        for kind in order:
            rng.shuffle(kinds[kind])
    waiting = deque(deque(kinds[kind]) for kind in order)
    while waiting:
        items = waiting.popleft()
        yield items.popleft()
        if items:
            waiting.append(items)


def fair(candidates: Iterable[tuple[str, T]], most: int, rng: random.Random, *, shuffled: bool = True) -> list[T]:
    """The first `most` of `in_turns`."""
    return list(islice(in_turns(candidates, rng, shuffled=shuffled), most))
