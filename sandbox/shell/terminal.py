"""Carries bytes between the terminal a person sits at and a pseudo-terminal that a sandbox holds the other side of."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import termios
import tty
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.shell.interactive import Interactive

_CHUNK = 1 << 16
_OPEN_TO_ALL = 0o666
_DRAIN_SECONDS = 1.0


async def at_terminal(
    sandbox: Interactive,
    command: str | list[str],
    *,
    env: dict[str, str],
    cwd: str | None = None,
    user: str | int | None = None,
    stdin: int = 0,
    stdout: int = 1,
) -> int:
    """Runs a command at the terminal behind `stdin` and `stdout`; returns its exit status.

    Raises:
        SandboxError: See `Interactive.interact`.
    """
    ours, theirs = os.openpty()
    try:
        os.fchmod(theirs, _OPEN_TO_ALL)  # whoever the command runs as has to open it
        with _raw(stdin), _followed_size(stdin, ours):
            relay = _Relay(ours, stdin, stdout)
            try:
                return await sandbox.interact(command, terminal_fd=theirs, env=env, cwd=cwd, user=user)
            finally:
                await relay.finish()
    finally:
        os.close(ours)
        os.close(theirs)


class _Relay:
    """Moves bytes both ways until it is told to finish."""

    def __init__(self, ours: int, stdin: int, stdout: int) -> None:
        self._ours, self._stdin, self._stdout = ours, stdin, stdout
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(stdin, self._typed)
        self._loop.add_reader(ours, self._shown)

    def _typed(self) -> None:
        data = os.read(self._stdin, _CHUNK)
        if data:
            _write_all(self._ours, data)
        else:  # the person's side was closed: the command sees the end of its input
            self._loop.remove_reader(self._stdin)
            _write_all(self._ours, b"\x04")

    def _shown(self) -> None:
        _write_all(self._stdout, os.read(self._ours, _CHUNK))

    async def finish(self) -> None:
        """Shows what the command wrote last, then stops."""
        self._loop.remove_reader(self._stdin)
        self._loop.remove_reader(self._ours)
        os.set_blocking(self._ours, False)
        ends = self._loop.time() + _DRAIN_SECONDS
        while self._loop.time() < ends:
            try:
                data = os.read(self._ours, _CHUNK)
            except (BlockingIOError, OSError):
                return
            _write_all(self._stdout, data)


@contextmanager
def _raw(terminal: int) -> Iterator[None]:
    """Hands every key on as it is, Ctrl-C too; the terminal gets its settings back whatever happens."""
    if not os.isatty(terminal):
        yield
        return
    before = termios.tcgetattr(terminal)
    tty.setraw(terminal, termios.TCSANOW)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


@contextmanager
def _followed_size(terminal: int, ours: int) -> Iterator[None]:
    """Gives the pseudo-terminal the terminal's size, and again each time that changes."""
    if not os.isatty(terminal):
        yield
        return

    def follow() -> None:
        size = fcntl.ioctl(terminal, termios.TIOCGWINSZ, b"\0" * 8)
        fcntl.ioctl(ours, termios.TIOCSWINSZ, size)  # the kernel tells those in front of it

    follow()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGWINCH, follow)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
