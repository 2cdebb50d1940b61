"""The bubblewrap back end: makes sandboxes, builds their images, cleans up behind itself and behind the dead."""

from __future__ import annotations

import asyncio
import os
import signal
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.bubblewrap import collecting, preparing, storage, sweeping
from sandbox.bubblewrap.arguments import bwrap_arguments
from sandbox.bubblewrap.building import ImageBuilder
from sandbox.bubblewrap.cgroup import Cgroup, CgroupLimits, find_hierarchies
from sandbox.bubblewrap.client import Launcher
from sandbox.bubblewrap.janitor import Janitor
from sandbox.bubblewrap.networking import Networks
from sandbox.bubblewrap.rlimits import allow_descriptors, process_limits
from sandbox.bubblewrap.roots import Root
from sandbox.bubblewrap.run_steps import BUILD_LIMITS
from sandbox.bubblewrap.sandbox import BubblewrapSandbox, Parts
from sandbox.bubblewrap.snapshots import Snapshots, Stand
from sandbox.bubblewrap.spares import Spares
from sandbox.bubblewrap.starting import Starting
from sandbox.bubblewrap.store import ImageStore, store_folder
from sandbox.bubblewrap.userns import UserMap, check_allowed, make_userns, user_map
from sandbox.bubblewrap.watching import StorageWatch
from sandbox.errors import SandboxError
from sandbox.image.bases import DEFAULT_BASES, BaseMap
from sandbox.image.engines import DEFAULT_ENGINES, OWN_ENGINE, check_engines
from sandbox.protocol import NO_NETWORK, Capabilities, Image, Limits, Network, Snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sandbox.bubblewrap.userns import UserMode
    from sandbox.protocol import NetworkMode, Stale
    from sandbox.task import Task


@dataclass(frozen=True, slots=True)
class Ready:
    """What the first use of a back end finds out and makes."""

    bwrap: str
    users: UserMap
    run: storage.RunDirectory
    cgroups: CgroupLimits
    builder: ImageBuilder
    store: ImageStore
    watch: StorageWatch
    spares: Spares
    networks: Networks


class BubblewrapBackend:
    """Sandboxes by `bwrap`; belongs to the event loop it is first used in.

    Args:
        base: Rules IMAGE=DIR, IMAGE=TAR or IMAGE=host: what `FROM` stands for.
        state: State directory; see `storage.state_directory` when left out.
        userns: How user ids are mapped; see `userns.user_map`.
        start_timeout: Seconds a sandbox may take to start, on a machine that is busy.
        disk_floor_mb: MiB to keep free where sandboxes write: below, what the largest writer runs is killed.
        engines: Who may build what a recipe cannot hold, in order of preference; see `building.ImageBuilder`.
        build_network: What `RUN` lines reach that are run in a sandbox: `host`, as image builders have it, or `none`.
    """

    name = "bubblewrap"

    def __init__(
        self,
        *,
        base: Sequence[str] = (),
        state: Path | None = None,
        userns: UserMode = "auto",
        start_timeout: float = 120.0,
        disk_floor_mb: int = 512,
        engines: Sequence[str] = DEFAULT_ENGINES,
        build_network: NetworkMode = "host",
    ) -> None:
        self._bases = BaseMap.parse(base or DEFAULT_BASES)
        self._state = state
        self._userns: UserMode = userns
        self._start_timeout = start_timeout
        self._disk_floor_mb = disk_floor_mb
        self._engines = check_engines(engines)
        self._build_network = Network(build_network)
        self._launcher = Launcher()
        self._ready: Ready | None = None
        self._preparing = asyncio.Lock()
        self._count = 0
        self._sandboxes: set[BubblewrapSandbox] = set()
        self._janitor = Janitor(self._launcher, userns)
        self._snapshots = Snapshots(self._janitor.remove_later)
        self._inits: set[int] = set()
        self._proven: set[Root] = set()
        self._backstop = weakref.finalize(self, _kill, self._inits, os.getpid())

    async def capabilities(self) -> Capabilities:
        """See `SandboxBackend.capabilities`."""
        ready = await self._prepared()
        per_process = {"file_size_mb", "open_files", "output_bytes", "storage_mb", "timeout"}
        if "processes" not in ready.cgroups.enforced and not ready.users.owns_host_files:
            per_process.add("processes")
        return Capabilities(
            dockerfile_run=OWN_ENGINE in self._engines,
            users=ready.users.users,
            snapshot=True,
            networks=await ready.networks.modes(),
            limits=ready.cgroups.enforced | per_process,
        )

    async def build(self, task: Task) -> Image:
        """See `SandboxBackend.build`."""
        return await (await self._prepared()).builder.build(task)

    async def host_image(self) -> Image:
        """An image of the `host` base with nothing on top: needs no task."""
        return await (await self._prepared()).builder.host_image()

    async def run_folder(self) -> Path:
        """Where the sandboxes of this back end keep what they write."""
        return (await self._prepared()).run.path

    async def start(
        self, origin: Image | Snapshot, *, limits: Limits | None = None, network: Network = NO_NETWORK
    ) -> BubblewrapSandbox:
        """See `SandboxBackend.start`."""
        try:
            return await self._start_from(origin, limits or Limits(), network)
        except OSError as error:
            what = "a full disk, too many open files, or a removed state directory come out so"
            raise SandboxError(f"a sandbox could not be started: {error} ({what})") from error

    async def _start_from(self, origin: Image | Snapshot, limits: Limits, network: Network) -> BubblewrapSandbox:
        ready = await self._prepared()
        await ready.networks.check(network)
        if isinstance(origin, Snapshot):
            stand = self._snapshots.take(origin.reference)
            try:
                sandbox = await self._start(ready, stand, origin.image, limits, network)
            except BaseException:
                self._snapshots.give_back(stand.snapshot)
                raise
            return await _connected(sandbox, ready)
        stored = ready.store.use(origin.reference)
        if stored is None:
            raise SandboxError(f"image {origin.reference}: not in the image store; build the task again")
        stand = Stand(stored.root, len(stored.root.layers))
        return await _connected(await self._start(ready, stand, origin, limits, network), ready)

    async def discard(self, snapshot: Snapshot) -> None:
        """See `SandboxBackend.discard`."""
        self._snapshots.discard(snapshot.reference)

    async def stale(self, *, images_unused_for: float | None = None) -> tuple[Stale, ...]:
        """See `SandboxBackend.stale`."""
        remains = await asyncio.to_thread(sweeping.find_remains, self._state or storage.state_directory())
        found = await sweeping.describe(remains, self._janitor)
        folder = store_folder(self._state or storage.state_directory())
        if images_unused_for is not None and folder.is_dir():  # no `_prepared` here: it sweeps
            store = self._ready.store if self._ready else ImageStore(folder, f"stale-{os.getpid()}")
            found += await asyncio.to_thread(collecting.unused, store, images_unused_for)
        return tuple(found)

    async def sweep(self, *, images_unused_for: float | None = None) -> int:
        """See `SandboxBackend.sweep`."""
        remains = await asyncio.to_thread(sweeping.find_remains, self._state or storage.state_directory())
        if images_unused_for is not None:
            await self.collect_images(unused_for=images_unused_for)
        return await sweeping.remove(remains, self._janitor, self._ready.cgroups if self._ready else None)

    async def image_store(self) -> ImageStore:
        """Where its images are kept."""
        return (await self._prepared()).store

    async def import_image(self, name: str, archive: Path) -> Image:
        """Unpacks an archive into the image store, and makes an image name stand for it; see `prepared.Bases`.

        Raises:
            ImageError: The archive is broken.
        """
        return await (await self._prepared()).builder.import_archive(name, archive)

    async def collect_images(
        self, *, unused_for: float | None = None, max_bytes: int | None = None, dry_run: bool = False
    ) -> tuple[Stale, ...]:
        """Removes images that no living process uses; see `collecting.collect`."""
        store = (await self._prepared()).store
        remove = self._janitor.remove
        return await collecting.collect(store, remove, unused_for=unused_for, max_bytes=max_bytes, dry_run=dry_run)

    async def close(self) -> None:
        """See `SandboxBackend.close`."""
        await asyncio.gather(*(sandbox.stop() for sandbox in list(self._sandboxes)))
        ready, self._ready = self._ready, None
        self._snapshots.clear()
        if ready is not None:
            await ready.spares.close()
            await ready.watch.close()
            ready.store.close()
            self._janitor.remove_later([ready.run.path])
        await self._janitor.close()
        await self._launcher.close()

    async def _prepared(self) -> Ready:
        if self._ready is None:
            async with self._preparing:
                if self._ready is None:
                    await self._prepare()
        assert self._ready is not None  # noqa: S101 - just made
        return self._ready

    async def _prepare(self) -> None:
        check_allowed()
        bwrap = preparing.bwrap_program()
        users = user_map(self._userns)
        await self._launcher.ready()
        state = self._state or storage.state_directory()
        run = await preparing.choose_run_directory(self._launcher, self._janitor, bwrap, users, state)
        cgroups = CgroupLimits(await asyncio.to_thread(find_hierarchies, run.name))
        store = ImageStore(store_folder(state), run.name)
        builder = ImageBuilder(
            store,
            self._bases,
            self._launcher,
            users=users.users,
            own_files=users.owns_host_files,
            start=self._start_for_build,
            userns=lambda: self._new_userns(users),
            engines=self._engines,
            ids=users.tag,
        )
        watch = StorageWatch(run.path, self._disk_floor_mb)
        spares = Spares(self._launcher, users, run.path)
        networks = Networks(self._launcher, lambda: self._new_userns(users), run.path)
        self._ready = Ready(bwrap, users, run, cgroups, builder, store, watch, spares, networks)
        await self.sweep()

    async def _new_userns(self, users: UserMap) -> int:
        return await make_userns(self._launcher, users)

    async def _start_for_build(self, root: Root, image: Image, runs: bool) -> BubblewrapSandbox:
        limits, network = (BUILD_LIMITS, self._build_network) if runs else (Limits(), NO_NETWORK)
        ready = await self._prepared()
        await ready.networks.check(network)
        return await _connected(await self._start(ready, Stand(root, len(root.layers)), image, limits, network), ready)

    async def _start(
        self, ready: Ready, stand: Stand, image: Image, limits: Limits, network: Network
    ) -> BubblewrapSandbox:
        await self._launcher.ready()
        allow_descriptors(len(self._sandboxes) + 1)
        resolv_conf = ready.networks.resolv_conf(network)
        self._count += 1
        number = self._count
        writable = ready.spares.writable(stand.root, ready.run.path / str(number))
        try:
            userns = await ready.spares.userns()
        except BaseException:
            self._janitor.remove_later([writable.folder])
            raise
        name = f"{ready.run.name}-{number}"
        arguments = bwrap_arguments(
            ready.bwrap,
            stand.root,
            writable,
            network=network.mode,
            resolv_conf=resolv_conf,
            memory_mb=limits.memory_mb,
        )
        starting = Starting(self._launcher, userns, patience=self._start_timeout)
        cgroup = Cgroup()
        try:
            await starting.spawn(arguments)
            cgroup = ready.cgroups.make(name, limits)
            init, stdin = await starting.first_process(known=stand.root in self._proven)
        except BaseException:
            await asyncio.shield(starting.give_up())
            cgroup.remove()
            os.close(userns)
            self._janitor.remove_later([writable.folder])
            raise
        self._proven.add(stand.root)
        self._inits.add(init)
        parts = Parts(self._launcher, stand, writable, cgroup, init, userns, stdin)
        sandbox = BubblewrapSandbox(
            name,
            image,
            limits,
            network,
            parts,
            backend=self,
            body=self._exec_body(ready, limits, number),
            on_stop=self._stopped,
            freeze=lambda written, of: asyncio.ensure_future(self._freeze(written, of)),
        )
        self._sandboxes.add(sandbox)
        ready.watch.add(sandbox)
        return sandbox

    def _exec_body(self, ready: Ready, limits: Limits, number: int) -> dict[str, object]:
        return {
            **process_limits(limits, ready.cgroups.enforced, number),
            "users": ready.users.users,
            "harden": ready.users.owns_host_files,
        }

    async def _freeze(self, written: list[list[str]], parts: Parts) -> str:
        ready = await self._prepared()
        self._count += 1
        target = ready.run.path / f"s{self._count}"
        # A later snapshot takes the place of an earlier one, and has all of it.
        stand = parts.stand
        kept = stand.root.layers[: stand.image_layers]
        await self._launcher.call("freeze", {"userns": parts.userns}, target=str(target), parts=written)
        self._snapshots.add(Stand(Root(stand.root.base, (*kept, target)), stand.image_layers, target.name))
        return target.name

    def _stopped(self, sandbox: BubblewrapSandbox) -> None:
        self._sandboxes.discard(sandbox)
        if self._ready is not None:
            self._ready.watch.forget(sandbox)
        self._inits.discard(sandbox.parts.init)
        self._snapshots.give_back(sandbox.parts.stand.snapshot)
        self._janitor.remove_later([sandbox.parts.writable.folder], sandbox.parts.cgroup)


async def _connected(sandbox: BubblewrapSandbox, ready: Ready) -> BubblewrapSandbox:
    """A sandbox with its way out; one that can't have it is stopped."""
    try:
        await sandbox.connect(ready.networks)
    except BaseException:
        await asyncio.shield(sandbox.stop())
        raise
    return sandbox


def _kill(inits: set[int], owner: int) -> None:
    """Kills the first processes of sandboxes that nobody stopped; a forked copy of their owner has no say in it."""
    for fd in inits if os.getpid() == owner else ():
        try:
            signal.pidfd_send_signal(fd, signal.SIGKILL)
        except OSError:
            continue
