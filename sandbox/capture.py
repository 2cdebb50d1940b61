"""Takes a command's output without ever holding more than a fixed part of it, and feeds its input."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK = 1 << 16
_CHUNKS_AT_ONCE = 16
_IDLE_DRAIN_SECONDS = 0.05


class Capture:
    """Keeps the first and the last half of what it is fed.

    Args:
        limit: Bytes kept in all.
    """

    def __init__(self, limit: int) -> None:
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._head_limit = (limit + 1) // 2
        self._tail_limit = limit // 2
        self.total = 0

    def feed(self, data: bytes) -> None:
        """Takes the next bytes."""
        self.total += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if not data:
            return
        self._tail.append(data)
        self._tail_size += len(data)
        while self._tail and self._tail_size - len(self._tail[0]) >= self._tail_limit:
            self._tail_size -= len(self._tail.popleft())

    @property
    def truncated(self) -> bool:
        """Whether bytes are missing."""
        return self.total > self._head_limit + self._tail_limit

    def result(self) -> bytes:
        """All of it, or head and tail with a line between that says how much is missing."""
        tail = b"".join(self._tail)
        if not self.truncated:
            return bytes(self._head) + tail
        kept = tail[len(tail) - self._tail_limit :]
        missing = self.total - len(self._head) - len(kept)
        return bytes(self._head) + f"\n[... {missing} bytes cut here ...]\n".encode() + kept


class OutputPipe:
    """The reading end of a pipe that a command writes to.

    Args:
        limit: Bytes kept.
        tell: Told of each piece as it comes.
    """

    def __init__(self, limit: int, tell: Callable[[bytes], None] | None = None) -> None:
        self._tell = tell
        self._fd, self.theirs = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._fd, False)
        self.capture = Capture(limit)
        self._loop = asyncio.get_running_loop()
        self._capturing = True
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(self._fd, self._read)

    def handed_over(self) -> None:
        """Closes our copy of the writing end."""
        os.close(self.theirs)

    def drain(self) -> None:
        """Takes what lies in the pipe."""
        if self._fd >= 0:
            self._read()

    def finish(self) -> None:
        """Keeps nothing more of what comes.

        A background process may still hold the other end: its output is thrown away from now on, at a modest speed,
            for it would die of a closed pipe and stand still before a full one.
        """
        self.drain()
        self._capturing = False

    def close(self) -> None:
        """Closes the reading end."""
        if self._fd < 0:
            return
        if not self._loop.is_closed():
            self._loop.remove_reader(self._fd)
        os.close(self._fd)
        self._fd = -1
        if not self.ended.done() and not self._loop.is_closed():
            self.ended.set_result(None)

    def _read(self) -> None:
        for _ in range(_CHUNKS_AT_ONCE):
            try:
                data = os.read(self._fd, _CHUNK)
            except BlockingIOError:
                return
            if not data:
                self.close()
                return
            if self._capturing:
                self.capture.feed(data)
                if self._tell is not None:
                    self._tell(data)
        if not self._capturing:
            self._loop.remove_reader(self._fd)
            self._loop.call_later(_IDLE_DRAIN_SECONDS, self._resume)

    def _resume(self) -> None:
        if self._fd >= 0:
            self._loop.add_reader(self._fd, self._read)


class InputPipe:
    """The writing end of a command's standard input.

    Args:
        data: What it is fed; the pipe closes behind the last byte, or when nobody reads any more.
    """

    def __init__(self, data: bytes) -> None:
        self.theirs, self._fd = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._fd, False)
        self._left = memoryview(data)
        self._loop = asyncio.get_running_loop()
        self._loop.add_writer(self._fd, self._write)

    def handed_over(self) -> None:
        """Closes our copy of the reading end."""
        os.close(self.theirs)

    def close(self) -> None:
        """Closes the writing end; what has not been read is dropped."""
        if self._fd >= 0:
            self._loop.remove_writer(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _write(self) -> None:
        try:
            if self._left:
                self._left = self._left[os.write(self._fd, self._left[: 1 << 20]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._left = memoryview(b"")
        if not self._left:
            self.close()
