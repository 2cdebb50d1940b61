"""Which processes are the sandbox's own, which came of commands, and how those are ended."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sandbox.e2b.wire import Wire

_SCRIPT = "processes.sh"


class Processes:
    """The processes of one sandbox.

    What ran before the first command belongs to the sandbox: its first process, its services, the service we speak to.
    A process number counts together with its start time, so a number that is used again is another process.

    Args:
        wire: The sandbox's service.
        own: The sandbox's own processes where they are known already, as PID:START.
    """

    def __init__(self, wire: Wire, own: Iterable[str] = ()) -> None:
        self._wire = wire
        self.own = tuple(own)
        self.service = ""
        self._roots: set[str] = set()
        self._running: set[int] = set()
        self._killing = asyncio.Lock()  # two kills at once would kill each other

    async def learn(self) -> None:
        """Takes all that runs now for the sandbox's own."""
        listed = (await self._wire.run_script(_SCRIPT, "list")).decode().split()
        self.service = listed[0]
        self.own = tuple(sorted(set(listed)))

    async def has_other_service(self) -> bool:
        """Whether the sandbox has started its service anew since `learn`: a command killed it; notes the new one."""
        listed = (await self._wire.run_script(_SCRIPT, "list")).decode().split()
        before, self.service = self.service, listed[0]
        return self.service != before

    def began(self, root: int) -> None:
        """Notes the process in front of a command that has started."""
        self._roots.add(str(root))
        self._running.add(root)

    def ended(self, root: int) -> None:
        """Notes that its command has ended."""
        self._running.discard(root)

    async def kill_tree(self, root: int) -> None:
        """Kills a command with all it started.

        All below it, its process group and session; and, where no other command runs, orphans younger than it. Where
        other commands run, a process that left the group, the session and its parent behind is not found. Where the
        process in front of the command is gone already, everything that came of commands is killed.
        """
        async with self._killing:
            alone = "1" if self._running <= {root} else "0"
            await self._wire.run_script(_SCRIPT, "tree", str(root), alone, *self.own)

    async def kill_all(self) -> int:
        """Kills everything that came of commands; how many those were, without what we ourselves put in front."""
        async with self._killing:
            killed = (await self._wire.run_script(_SCRIPT, "all", *self.own)).decode().split()
        return sum(1 for one in killed if one.partition(":")[0] not in self._roots)
