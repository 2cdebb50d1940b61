"""Keeps sandboxes from filling the disk: looks at what they have written, and kills what runs in those with too much.

No quota of the kernel is there for every file system and every user, so this comes after the fact, within seconds.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.errors import SandboxError

if TYPE_CHECKING:
    from pathlib import Path

    from sandbox.bubblewrap.sandbox import BubblewrapSandbox

MIB = 1 << 20
_SECONDS = 0.5
_SHARE = 10  # of the time between two looks, at most one part in so many goes into looking


@dataclass(slots=True)
class Watched:
    """What is known of one sandbox.

    Attributes:
        over: What it held when it was last found beyond its limit; 0 while it is not.
    """

    over: int = 0


class StorageWatch:
    """Looks at sandboxes as long as there are any.

    Args:
        folder: Where they write.
        floor_mb: MiB that must stay free on that file system.
    """

    def __init__(self, folder: Path, floor_mb: int) -> None:
        self._folder = folder
        self._floor = floor_mb * MIB
        self._watched: dict[BubblewrapSandbox, Watched] = {}
        self._relieved: set[BubblewrapSandbox] = set()
        self._task: asyncio.Task[None] | None = None

    def add(self, sandbox: BubblewrapSandbox) -> None:
        """Watches one more."""
        self._watched[sandbox] = Watched()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())

    def forget(self, sandbox: BubblewrapSandbox) -> None:
        """Watches one less."""
        self._watched.pop(sandbox, None)
        self._relieved.discard(sandbox)

    async def close(self) -> None:
        """Stops watching."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        took = 0.0
        while self._watched:
            await asyncio.sleep(max(_SECONDS, took * _SHARE))
            began = loop.time()
            await self._check_disk()
            for sandbox, watched in list(self._watched.items()):
                if sandbox.limits.storage_mb is not None and sandbox.busy():
                    await self._check(sandbox, watched, sandbox.limits.storage_mb * MIB)
            took = loop.time() - began

    async def _check(self, sandbox: BubblewrapSandbox, watched: Watched, limit: int) -> None:
        """Kills what runs beyond the limit, unless it writes nothing more: it may be tidying up after a kill."""
        try:
            size = await sandbox.written_bytes()
            if size <= limit:
                watched.over = 0
            elif not watched.over or size > watched.over + MIB:
                reason = f"it has written {size / MIB:.0f} MiB, and may write {limit / MIB:.0f} (storage_mb)"
                await sandbox.cut_off(reason)
                watched.over = await sandbox.written_bytes()
        except (SandboxError, OSError):  # it has just been stopped, or died
            return

    async def _check_disk(self) -> None:
        """Kills what the largest writer runs when the disk is nearly full; at the next look, if need be, the next's."""
        try:
            status = os.statvfs(self._folder)
        except FileNotFoundError:  # the back end is closing
            return
        free = status.f_bavail * status.f_frsize
        if free >= self._floor:
            self._relieved.clear()
            return
        sizes = {}
        for sandbox in [one for one in self._watched if one.busy() and one not in self._relieved]:
            try:
                sizes[sandbox] = await sandbox.written_bytes()
            except (SandboxError, OSError):
                continue
        if not sizes:
            self._relieved.clear()
            return
        largest = max(sizes, key=lambda one: sizes[one])
        self._relieved.add(largest)
        reason = f"the disk has {free / MIB:.0f} MiB left, and it has written the most, {sizes[largest] / MIB:.0f} MiB"
        try:
            await largest.cut_off(reason)
        except (SandboxError, OSError):
            return
