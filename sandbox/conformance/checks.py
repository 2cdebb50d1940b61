"""What a check is: an id, the promise it stands for, what it needs, and a coroutine that tries it."""

from __future__ import annotations

import asyncio
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from sandbox.conformance.stage import Stage

THEMES = (
    "values",
    "commands",
    "streams",
    "timeouts",
    "killing",
    "limits",
    "files",
    "downloads",
    "archives",
    "changes",
    "snapshots",
    "network",
    "concurrency",
    "cleanup",
)


class PromiseBrokenError(Exception):
    """A back end did not do what the protocol promises.

    Attributes:
        expected: What should have come.
        got: What came.
        remedy: What to do about it.
    """

    def __init__(self, expected: str, got: object, remedy: str) -> None:
        super().__init__(f"expected {expected}; got {got}; {remedy}")
        self.expected = expected
        self.got = str(got)
        self.remedy = remedy


class NotOfferedError(Exception):
    """The back end says that it does not have what a check needs: neither passed nor failed."""


@dataclass(frozen=True, slots=True)
class Check:
    """One promise and how it is tried.

    Attributes:
        id: Theme and name, such as `timeouts.setsid`; stays the same for good.
        promise: One sentence: what a back end promises.
        needs: Capabilities without which the check cannot be made: `snapshot`, `users`, `dockerfile_run`,
            `limits.memory_mb`, `networks.none`, or `isolation` (any network but the machine's own).
        lacks: Capabilities with which there is nothing to check: the promise is how their absence is told.
        run: Tries it; raises `PromiseBrokenError` or `NotOfferedError`.
    """

    id: str
    promise: str
    needs: tuple[str, ...]
    lacks: tuple[str, ...]
    run: Callable[[Stage], Coroutine[None, None, None]]


def check(
    name: str, promise: str, *, needs: tuple[str, ...] = (), lacks: tuple[str, ...] = ()
) -> Callable[[Callable[[Stage], Coroutine[None, None, None]]], Check]:
    """Makes a check of a coroutine function; see `Check`."""

    def decorated(run: Callable[[Stage], Coroutine[None, None, None]]) -> Check:
        return Check(name, promise, needs, lacks, run)

    return decorated


def all_checks() -> tuple[Check, ...]:
    """Every check, theme by theme, in the order of their modules."""
    found: list[Check] = []
    for theme in THEMES:
        module = importlib.import_module(f"sandbox.conformance.{theme}")
        found += [value for value in vars(module).values() if isinstance(value, Check)]
    return tuple(found)


def expect(holds: object, expected: str, got: object, remedy: str) -> None:
    """Goes on when `holds` is true.

    Raises:
        PromiseBrokenError: It is not.
    """
    if not holds:
        raise PromiseBrokenError(expected, got, remedy)


def expect_equal(got: object, wanted: object, what: str, remedy: str) -> None:
    """Goes on when both are equal.

    Raises:
        PromiseBrokenError: They are not.
    """
    expect(got == wanted, f"{what} {wanted!r}", repr(got), remedy)


async def expect_error(
    work: Coroutine[None, None, object],
    kinds: type[BaseException] | tuple[type[BaseException], ...],
    what: str,
    remedy: str,
) -> BaseException:
    """Waits for work that has to fail, and returns its error.

    Raises:
        PromiseBrokenError: It did not fail, or with an error of another kind.
    """
    names = " or ".join(kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
    trying = asyncio.ensure_future(work)
    try:
        await asyncio.wait({trying})
    finally:
        trying.cancel()
    error = trying.exception()
    if isinstance(error, kinds):
        return error
    if error is not None:
        raise PromiseBrokenError(f"{names} for {what}", f"{type(error).__name__}: {error}", remedy) from error
    raise PromiseBrokenError(f"{names} for {what}", f"no error, but {trying.result()!r}", remedy)
