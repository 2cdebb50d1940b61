"""Removes and measures folders that may belong to other ids, or be closed to their owner."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from sandbox.bubblewrap.userns import make_userns, user_map
from sandbox.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sandbox.bubblewrap.cgroup import Cgroup
    from sandbox.bubblewrap.client import Launcher
    from sandbox.bubblewrap.userns import UserMode

_AT_ONCE = 500
_QUIET_SECONDS = 0.02


class Janitor:
    """Works on folders as root of a user name space like the sandboxes'.

    Args:
        launcher: Does it.
        userns: How user ids are mapped.
    """

    def __init__(self, launcher: Launcher, userns: UserMode) -> None:
        self._launcher = launcher
        self._mode: UserMode = userns
        self._userns: int | None = None
        self._making = asyncio.Lock()
        self._waiting: list[Path] = []
        self._groups: list[Cgroup] = []
        self._removal: asyncio.Task[None] | None = None

    async def remove(self, paths: Sequence[Path]) -> None:
        """Removes folders with all in them; those that are not there are no error."""
        if paths:
            await self._launcher.ready()
            await self._launcher.call("remove", await self._fds(), paths=[str(path) for path in paths])

    def remove_later(self, paths: Sequence[Path], cgroup: Cgroup | None = None) -> None:
        """The same in a quieter moment, many at once; with a control group whose processes are gone."""
        self._waiting += paths
        if cgroup is not None:
            self._groups.append(cgroup)
        if self._removal is None or self._removal.done():
            self._removal = asyncio.create_task(self._remove_waiting())

    async def measure(self, paths: Sequence[Path]) -> list[int]:
        """Bytes on the disk of each folder."""
        sizes: list[int] = []
        for start in range(0, len(paths), _AT_ONCE):
            await self._launcher.ready()
            names = [str(path) for path in paths[start : start + _AT_ONCE]]
            sizes += await measured(self._launcher, await self._fds(), names)
        return sizes

    async def settled(self) -> None:
        """Waits until all that was to be removed is."""
        while self._removal is not None and not self._removal.done():
            await self._removal

    async def close(self) -> None:
        """Waits for the removals and lets the user name space go."""
        await self.settled()
        if self._userns is not None:
            os.close(self._userns)
            self._userns = None

    async def _remove_waiting(self) -> None:
        while self._waiting or self._groups:
            await asyncio.sleep(_QUIET_SECONDS)
            paths, self._waiting = self._waiting, []
            groups, self._groups = self._groups, []
            for group in groups:
                group.remove()
            try:
                await self.remove(paths)
            except SandboxError:  # the launcher was killed meanwhile, or a file came in between: once more
                await self.remove(paths)

    async def _fds(self) -> dict[str, int]:
        users = user_map(self._mode)
        if self._userns is None and users.mode != "identity":
            async with self._making:
                if self._userns is None:
                    self._userns = await make_userns(self._launcher, users)
        return {} if self._userns is None else {"userns": self._userns}


async def measured(launcher: Launcher, fds: dict[str, int], paths: Sequence[str]) -> list[int]:
    """Asks the launcher for the sizes of folders; see `sandbox.bubblewrap.measuring`."""
    answer = await launcher.ask("measure", fds, paths=list(paths))
    sizes = answer["sizes"]
    assert isinstance(sizes, list)  # noqa: S101 - written by our own launcher
    return [int(size) for size in sizes]
