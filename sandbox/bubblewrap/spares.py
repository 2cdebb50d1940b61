"""Makes in a quiet moment what the next sandbox needs: a user name space, and the folders that take its writes."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from sandbox.bubblewrap.roots import Writable, part
from sandbox.bubblewrap.userns import UserMap, make_userns
from sandbox.errors import SandboxError

if TYPE_CHECKING:
    from pathlib import Path

    from sandbox.bubblewrap.client import Launcher
    from sandbox.bubblewrap.roots import Root

_QUIET_SECONDS = 0.03


class Spares:
    """One of each, for the sandboxes of one back end.

    Args:
        launcher: Makes user name spaces.
        users: How user ids are mapped.
        run: Where sandboxes keep what they write.
    """

    def __init__(self, launcher: Launcher, users: UserMap, run: Path) -> None:
        self._launcher = launcher
        self._users = users
        self._folder = Writable(run / "spare")
        self._root: Root | None = None
        self._made_for: frozenset[str] = frozenset()
        self._userns: asyncio.Task[int] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def writable(self, root: Root, folder: Path) -> Writable:
        """The folders of a new sandbox: as a rule made before, for the sandbox before it has mostly the same root."""
        self._root = root
        writable = Writable(folder)
        if self._made_for and self._made_for == _parts(root):
            self._made_for = frozenset()
            self._folder.folder.rename(folder)
        else:
            writable.make(root)
        return writable

    async def userns(self) -> int:
        """A fresh user name space; its descriptor is the caller's to close."""
        spare, self._userns = self._userns, None
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_QUIET_SECONDS, self._make)
        if spare is not None:
            try:
                return await asyncio.shield(spare)
            except asyncio.CancelledError:
                spare.add_done_callback(_let_go)
                raise
            except SandboxError:  # the launcher that was to make it has been killed
                await self._launcher.ready()
        return await make_userns(self._launcher, self._users)

    async def close(self) -> None:
        """Lets go of them; the folders lie in the run directory, and go with it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        spare, self._userns = self._userns, None
        self._made_for = frozenset()
        if spare is not None:
            with suppress(SandboxError):
                os.close(await spare)

    def _make(self) -> None:
        self._timer = None
        if self._userns is None:
            self._userns = asyncio.create_task(make_userns(self._launcher, self._users))
        if not self._made_for and self._root is not None:
            self._folder.make(self._root)
            self._made_for = _parts(self._root)


def _let_go(spare: asyncio.Task[int]) -> None:
    """Closes what nobody waits for any more."""
    if not spare.cancelled() and spare.exception() is None:
        os.close(spare.result())


def _parts(root: Root) -> frozenset[str]:
    return frozenset(part(mount) for mount, _lowers in root.base)
