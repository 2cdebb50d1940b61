"""Feeds one parser many inputs and says of the first that breaks it how to make that input again."""

from __future__ import annotations

import resource
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType

SECONDS = 2.0
"""Of processor time: what an input may take at most. An input that takes longer counts as a hang."""
MOST_MEMORY_KIB = 600 << 10
"""How much larger the process may become while one parser is fed."""
MOST_MESSAGE = 5000
"""Characters of an error's message, beside those that it quotes of the input."""
SHARE = 50
"""One input in so many is also read in the plain run."""
_SHOWN = 400


class HangError(BaseException):
    """An input took too long; no `Exception`, so that no parser takes it for a broken input."""


@dataclass(frozen=True)
class Parser:
    """A parser and what it is fed.

    Attributes:
        name: Also the first half of every seed.
        make: Makes an input.
        read: Reads it; may assert what has to hold of the result.
        raises: What it says that it raises.
        count: Inputs of the mass.
    """

    name: str
    make: Callable[[Random], bytes]
    read: Callable[[bytes], object]
    raises: tuple[type[Exception], ...]
    count: int

    def __str__(self) -> str:
        return self.name

    def input(self, seed: int) -> bytes:
        """The input of a seed."""
        return self.make(Random(f"{self.name} {seed}"))


def feed(parser: Parser, seeds: Iterable[int]) -> None:
    """Reads the inputs of all seeds.

    Raises:
        AssertionError: One of them broke the parser; names it.
    """
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for seed in seeds:
        content = parser.input(seed)
        problem = _problem(parser, content)
        assert not problem, (
            f"{parser.name}, seed {seed}: {problem}\n{len(content)} bytes: {content[:_SHOWN]!r}"
            f"{'…' if len(content) > _SHOWN else ''}"
        )
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown < MOST_MEMORY_KIB, f"{parser.name}, seed {seed}: the process has grown by {grown} KiB"


def _problem(parser: Parser, content: bytes) -> str:
    try:
        with _limited():
            parser.read(content)
    except parser.raises as error:
        return _unreadable(str(error), len(content))
    except (Exception, HangError) as error:  # noqa: BLE001 - any that escapes is what is looked for
        return f"{type(error).__name__}: {str(error)[:_SHOWN]!r} escaped{_where(error)}"
    return ""


def _unreadable(message: str, size: int) -> str:
    """What is wrong with the message of an error about so many bytes: it has to go into logs and files."""
    if not message:
        return "an error without a message"
    if len(message) > MOST_MESSAGE + 6 * size:
        return f"an error with a message of {len(message)} characters: {message[:_SHOWN]!r}"
    try:
        message.encode("utf-8")
    except UnicodeEncodeError:
        return f"an error whose message is no text: {message[:_SHOWN]!r}"
    return ""


def _where(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""


@contextmanager
def _limited() -> Iterator[None]:
    """Ends what takes too long; counts processor time, so a busy machine is no hang."""

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise HangError(f"still at it after {SECONDS:g} s")

    former = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, former)
