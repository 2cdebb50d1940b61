"""Finds and kills a container's processes from outside, so that nothing in it is asked and nothing in it can refuse.

Where the engine's processes are this machine's and this user may signal them, they are stopped first and killed then: a
fork bomb that stands still makes no more copies. Elsewhere (an engine in a virtual machine, a user who is only in the
group `docker`) the container is killed as a whole and started again; its files stay.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.errors import SandboxLostError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_GONE_SECONDS = 20.0
_CGROUPS = Path("/sys/fs/cgroup")
_PARENT, _SESSION, _START = 1, 3, 19  # fields of /proc/PID/stat behind the parenthesis


@dataclass(frozen=True, slots=True)
class Process:
    """A process of this machine: its parent, its session, when it started (clock ticks since boot)."""

    pid: int
    parent: int
    session: int
    start: int


class LocalProcesses:
    """The processes of one container, by their numbers on this machine.

    Args:
        init: Its first process.
        listing: The file in which the kernel lists them.
        keepers: Processes that are the sandbox's own: the first, and the one that keeps it alive.
    """

    def __init__(self, init: int, listing: Path, keepers: frozenset[int]) -> None:
        self.init = init
        self._listing = listing
        self._keepers = keepers

    @classmethod
    def find(cls, container: str, init: int) -> LocalProcesses | None:
        """Those of a container that has just started and runs no command yet; `None` where they are elsewhere."""
        listing = _listing(container, init)
        if listing is None or not _may_signal(init):
            return None
        until = time.monotonic() + _GONE_SECONDS
        while len(keepers := frozenset(_pids(listing))) < 2:  # noqa: PLR2004 - the first process and its child
            if time.monotonic() > until or not keepers:
                return None
            time.sleep(0.002)
        return cls(init, listing, keepers)

    def kill_all(self) -> int:
        """Kills everything but the keepers; how many that were."""
        return self._kill(lambda found: [process.pid for process in found])

    def kill_command(self, pid: int, others: Collection[int]) -> None:
        """Kills a command with all it started, children that left its session included.

        A process whose parent has ended tells no longer whose it was. Those that began after the command did and are
        in no other command's session count as its own.

        Args:
            pid: The command.
            others: Commands that run beside it.
        """
        root = _process(pid)
        known = set(others)

        def belonging(found: list[Process]) -> list[int]:
            chosen = {pid}
            for process in found:
                orphan = process.parent == self.init and root is not None and process.start >= root.start
                if orphan and process.pid not in known and process.session not in known:
                    chosen.add(process.pid)
                if process.session == pid:
                    chosen.add(process.pid)
            chosen = _with_children(found, chosen)
            return [process.pid for process in found if process.pid in chosen]

        self._kill(belonging)

    def anybody(self, commands: Collection[int]) -> bool:
        """Whether processes are left that belong to none of the given commands."""
        found = self._processes()
        chosen = {process.pid for process in found if process.pid in commands or process.session in commands}
        return bool({process.pid for process in found} - _with_children(found, chosen))

    def _kill(self, choose: Callable[[list[Process]], list[int]]) -> int:
        until = time.monotonic() + _GONE_SECONDS
        seen: set[int] = set()
        while True:
            stopped: set[int] = set()
            while new := set(choose(self._processes())) - stopped:
                _signal(new, signal.SIGSTOP, self._listing)
                stopped |= new
            if not stopped:
                return len(seen)
            seen |= stopped
            _signal(stopped, signal.SIGKILL, self._listing)
            while any(_alive(pid) for pid in stopped):
                if time.monotonic() > until:
                    raise SandboxLostError("processes outlived their kill: one hangs in the kernel")
                time.sleep(0.002)

    def _processes(self) -> list[Process]:
        found = (_process(pid) for pid in _pids(self._listing) if pid not in self._keepers)
        return [process for process in found if process is not None]


def _with_children(found: list[Process], chosen: set[int]) -> set[int]:
    """Processes and all that they started, as far as that can be seen."""
    while more := {process.pid for process in found if process.parent in chosen} - chosen:
        chosen = chosen | more
    return chosen


def _listing(container: str, init: int) -> Path | None:
    """Where the kernel lists a container's processes: a control group named after it."""
    try:
        rows = Path(f"/proc/{init}/cgroup").read_text().splitlines()
    except OSError:
        return None
    for row in rows:
        _, controllers, path = row.split(":", 2)
        if container not in path:
            continue
        for mount in (
            (_CGROUPS / controllers.removeprefix("name=")) if controllers else _CGROUPS / "unified",
            _CGROUPS,
        ):
            listing = mount / path.lstrip("/") / "cgroup.procs"
            if init in _pids(listing):
                return listing
    return None


def _pids(listing: Path) -> list[int]:
    try:
        return [int(line) for line in listing.read_text().split()]
    except OSError:
        return []


def _process(pid: int) -> Process | None:
    """Reads a process; `None` when it has ended, though nobody may have asked for its status yet."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    if fields[0] in (b"Z", b"X"):
        return None
    return Process(pid, int(fields[_PARENT]), int(fields[_SESSION]), int(fields[_START]))


def _alive(pid: int) -> bool:
    return _process(pid) is not None


def _may_signal(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _signal(pids: Collection[int], number: signal.Signals, listing: Path) -> None:
    """Signals processes, none of which can be another one by now: each is held first, then looked for in the list."""
    held: dict[int, int] = {}
    try:
        for pid in pids:
            with suppress(ProcessLookupError):
                held[pid] = os.pidfd_open(pid)
        for pid in held.keys() & set(_pids(listing)):
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(held[pid], number)
    finally:
        for fd in held.values():
            os.close(fd)
