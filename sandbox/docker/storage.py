"""Bounds what a sandbox writes: by the storage driver where it can, else by looking on and killing beyond the bound."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from sandbox.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from sandbox.docker.engine import Engine

_LEAST_PAUSE = 0.5
_TIMES_ITS_COST = 10  # a look at a million files takes seconds, and is not to be all that the engine does


def driver_can_bound(info: Mapping[str, object]) -> bool:
    """Whether the storage driver bounds each container by itself: overlay2 on XFS with project quotas does."""
    rows = info.get("DriverStatus")
    status = dict(row for row in rows if len(row) == 2) if isinstance(rows, list) else {}  # noqa: PLR2004
    driver = info.get("Driver")
    if driver in ("btrfs", "zfs", "devicemapper"):
        return True
    return (
        driver == "overlay2" and status.get("Backing Filesystem") == "xfs" and status.get("Supports pquota") == "true"
    )


class StorageWatch:
    """Looks on while commands run, and kills them when the sandbox has written too much.

    A sandbox that is full once is not killed again for that, so that a command can clean up; it is when it grows.

    Args:
        written: Says how many bytes the sandbox has written.
        kill: Kills its processes.
        limit: Bytes allowed.
    """

    def __init__(
        self, written: Callable[[], Awaitable[int]], kill: Callable[[], Awaitable[object]], limit: int
    ) -> None:
        self._written = written
        self._kill = kill
        self._limit = limit
        self._allowed = limit
        self._commands = 0
        self._task: asyncio.Task[None] | None = None
        self.kills = 0

    def begin(self) -> None:
        """A command starts."""
        self._commands += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())

    def end(self) -> None:
        """A command has ended; what it left in the background is looked at when the next one starts."""
        self._commands -= 1

    def stop(self) -> None:
        """Looks no more."""
        if self._task is not None:
            self._task.cancel()

    async def _look(self) -> None:
        while True:
            began = time.monotonic()
            try:
                size = await self._written()
                if size > self._allowed:
                    self.kills += 1
                    await self._kill()
                    size = await self._written()
            except SandboxError:  # it is being stopped, or the command that runs meets the same and says so
                return
            self._allowed = max(self._limit, size)
            await asyncio.sleep(max(_LEAST_PAUSE, (time.monotonic() - began) * _TIMES_ITS_COST))
            if not self._commands:
                return


async def written_bytes(engine: Engine, container: str) -> int:
    """Bytes that a container has written, as the engine counts them."""
    rows = await engine.call(
        "measuring what a sandbox wrote", engine.client.api.containers, all=True, size=True, filters={"id": container}
    )
    return int(rows[0].get("SizeRw") or 0) if rows else 0
