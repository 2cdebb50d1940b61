"""Sandboxes that are ready before they are asked for: a back end around another one."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sandbox.errors import SandboxError
from sandbox.protocol import NO_NETWORK, Capabilities, Image, Limits, Network, Snapshot

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sandbox.protocol import Sandbox, SandboxBackend, Stale
    from sandbox.task import Task

    SetUp = Callable[[Sandbox], Awaitable[None]]


_MOST_KINDS = 256


@dataclass(slots=True)
class _Shelf:
    """Sandboxes of one kind.

    Attributes:
        origin: What they start from.
        limits: What each may use.
        network: What each may reach.
        ready: Those nobody has been given yet, oldest first.
        coming: Those being started.
    """

    origin: Image | Snapshot
    limits: Limits
    network: Network
    ready: list[Sandbox] = field(default_factory=list)
    coming: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def size(self) -> int:
        """How many there are and will be."""
        return len(self.ready) + len(self.coming)


@dataclass(frozen=True, slots=True)
class _Warmth:
    """What is done once for an origin instead of each time.

    Attributes:
        set_up: Does it.
        snapshot: Of a sandbox in which it was done; `None` where the back end has none: then it is done each time.
    """

    set_up: SetUp
    snapshot: Snapshot | None


class PreparedPool:
    """A back end that starts sandboxes of a kind it has seen before ahead of time.

    A sandbox is handed out once and belongs to whom it was given: its `stop` really stops it, and no other caller ever
    sees it. One that died while it waited is thrown away. What was prepared counts against this machine's memory and,
    with a cloud, its bill: `most` bounds it, and `close` stops what nobody asked for.

    Args:
        backend: Makes the sandboxes.
        ahead: How many of each kind wait.
        most: How many wait in all; the kind that was asked for longest ago makes room.
    """

    def __init__(self, backend: SandboxBackend, ahead: int = 2, *, most: int = 8) -> None:
        self._backend = backend
        self._ahead = ahead
        self._most = most
        self._shelves: dict[tuple[str, str, Limits, Network], _Shelf] = {}
        self._warm: dict[str, _Warmth] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._closing = False
        self.name = backend.name

    @property
    def waiting(self) -> int:
        """How many sandboxes are ready and not handed out yet."""
        return sum(len(shelf.ready) for shelf in self._shelves.values())

    async def capabilities(self) -> Capabilities:
        """See `SandboxBackend.capabilities`."""
        return await self._backend.capabilities()

    async def build(self, task: Task) -> Image:
        """See `SandboxBackend.build`."""
        return await self._backend.build(task)

    async def warm(self, origin: Image, set_up: SetUp) -> None:
        """Does a set-up once for an image; each later start of that image begins where it ended.

        Where the back end has no snapshots, the set-up is done in each sandbox, ahead of time where there was time.

        Args:
            origin: The image.
            set_up: Runs commands and writes files in a sandbox; its processes do not live on.

        Raises:
            SandboxError: A sandbox could not be started; what `set_up` raises comes through.
        """
        snapshot = None
        if (await self._backend.capabilities()).snapshot:
            network = await self._usual_network()
            sandbox = await self._backend.start(origin, network=network)
            try:
                await set_up(sandbox)
                snapshot = await sandbox.snapshot()
            finally:
                await asyncio.shield(sandbox.stop())
        old = self._warm.pop(origin.reference, None)
        self._warm[origin.reference] = _Warmth(set_up, snapshot)
        await self._clear([key for key in self._shelves if key[1] == origin.reference])
        if old is not None and old.snapshot is not None:
            await self._backend.discard(old.snapshot)

    async def start(
        self, origin: Image | Snapshot, *, limits: Limits | None = None, network: Network = NO_NETWORK
    ) -> Sandbox:
        """See `SandboxBackend.start`; a sandbox that waits is handed out at once."""
        asked = limits or Limits()
        key = (type(origin).__name__, origin.reference, asked, network)
        shelf = self._shelves.pop(key, None)
        known = shelf is not None
        shelf = self._shelves[key] = shelf or _Shelf(origin, asked, network)  # the last in the row is the latest
        self._forget_kinds()
        sandbox = await self._taken(shelf)
        if sandbox is None:
            sandbox = await self._made(shelf)
        # The first start of a kind may be its only one: what was asked for twice will be asked for again.
        if known and self._shelves.get(key) is shelf:
            self._refill(shelf)
        return sandbox

    async def discard(self, snapshot: Snapshot) -> None:
        """See `SandboxBackend.discard`; sandboxes that wait and were started from it are stopped."""
        await self._clear([key for key in self._shelves if key[:2] == ("Snapshot", snapshot.reference)])
        await self._backend.discard(snapshot)

    async def stale(self, *, images_unused_for: float | None = None) -> tuple[Stale, ...]:
        """See `SandboxBackend.stale`."""
        return await self._backend.stale(images_unused_for=images_unused_for)

    async def sweep(self, *, images_unused_for: float | None = None) -> int:
        """See `SandboxBackend.sweep`."""
        return await self._backend.sweep(images_unused_for=images_unused_for)

    async def settled(self) -> None:
        """Waits until no sandbox is on its way any more: all that were wanted wait, or could not be started."""
        while coming := [task for shelf in self._shelves.values() for task in shelf.coming]:
            await asyncio.wait(coming)

    async def empty(self) -> None:
        """Stops every sandbox that waits and forgets every set-up; those that were handed out live on."""
        self._closing = True
        try:
            await self._clear(list(self._shelves))
            if self._leaving:
                await asyncio.gather(*self._leaving)
            warm, self._warm = self._warm, {}
            for warmth in warm.values():
                if warmth.snapshot is not None:
                    await self._backend.discard(warmth.snapshot)
        finally:
            self._closing = False

    async def close(self) -> None:
        """See `SandboxBackend.close`; stops what waits, and the back end with all that was handed out."""
        await self.empty()
        await self._backend.close()

    async def _taken(self, shelf: _Shelf) -> Sandbox | None:
        """The oldest that waits and lives, or the first that comes."""
        while shelf.size:
            if not shelf.ready:
                await asyncio.wait(shelf.coming, return_when=asyncio.FIRST_COMPLETED)
                if not shelf.ready:
                    return None  # it failed to start: try directly, where the error has a reader
                continue
            sandbox = shelf.ready.pop(0)
            if await _lives(sandbox):
                return sandbox
            self._let_go(sandbox)
        return None

    async def _made(self, shelf: _Shelf) -> Sandbox:
        warmth = self._warm.get(shelf.origin.reference) if isinstance(shelf.origin, Image) else None
        origin = warmth.snapshot if warmth and warmth.snapshot else shelf.origin
        sandbox = await self._backend.start(origin, limits=shelf.limits, network=shelf.network)
        if warmth and warmth.snapshot is None:
            try:
                await warmth.set_up(sandbox)
            except BaseException:
                await asyncio.shield(sandbox.stop())
                raise
        return sandbox

    def _forget_kinds(self) -> None:
        """Of very many kinds, those that were asked for longest ago and have nothing waiting are forgotten."""
        for key in [key for key, shelf in self._shelves.items() if not shelf.size][:-_MOST_KINDS]:
            del self._shelves[key]

    def _refill(self, shelf: _Shelf) -> None:
        while shelf.size < self._ahead and self._room_for(shelf) and not self._closing:
            coming = asyncio.create_task(self._prepare(shelf))
            shelf.coming.add(coming)
            coming.add_done_callback(shelf.coming.discard)

    def _room_for(self, shelf: _Shelf) -> bool:
        """Whether one more may wait; where not, the kind asked for longest ago gives one up."""
        if sum(each.size for each in self._shelves.values()) < self._most:
            return True
        for other in self._shelves.values():
            if other is not shelf and other.ready:
                self._let_go(other.ready.pop(0))
                return True
        return False

    async def _prepare(self, shelf: _Shelf) -> None:
        with suppress(SandboxError):  # told to whoever asks next: `_taken` then starts one directly
            shelf.ready.append(await self._made(shelf))

    def _let_go(self, sandbox: Sandbox) -> None:
        leaving = asyncio.create_task(sandbox.stop())
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)

    async def _clear(self, keys: list[tuple[str, str, Limits, Network]]) -> None:
        """Stops everything that waits on some shelves, or is on its way there."""
        shelves = [self._shelves.pop(key) for key in keys]
        coming = [task for shelf in shelves for task in shelf.coming]
        if coming:
            await asyncio.gather(*coming, return_exceptions=True)
        await asyncio.gather(*(sandbox.stop() for shelf in shelves for sandbox in shelf.ready))

    async def _usual_network(self) -> Network:
        """The narrowest network there is: a set-up that needs more brings its files along."""
        offered = (await self._backend.capabilities()).networks
        return next(
            (Network(mode) for mode in ("none", "public", "host") if mode in offered),
            NO_NETWORK,
        )


async def _lives(sandbox: Sandbox) -> bool:
    try:
        return (await sandbox.exec(["true"], cwd="/", timeout=30)).ok
    except SandboxError:
        return False
