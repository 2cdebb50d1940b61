"""The e2b back end: makes sandboxes in the cloud and cleans up behind itself and behind the dead."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from sandbox.e2b import owners
from sandbox.e2b.building import ImageBuilder
from sandbox.e2b.cloud import Cloud
from sandbox.e2b.failures import KEY_MISSING, attempted
from sandbox.e2b.keeping import Keeper
from sandbox.e2b.limiting import ENFORCED, check_limits, check_machine, needs_info
from sandbox.e2b.networks import MODES, network_options
from sandbox.e2b.processes import Processes
from sandbox.e2b.sandbox import E2BSandbox
from sandbox.e2b.templates import DEFAULT_TEMPLATES, TemplateMap
from sandbox.e2b.wire import Wire
from sandbox.errors import SandboxError, SandboxLostError, SandboxUnavailableError
from sandbox.protocol import NO_NETWORK, Capabilities, Image, Limits, Snapshot, Stale

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sandbox.e2b.entries import Entry
    from sandbox.protocol import Network
    from sandbox.task import Task


class E2BBackend:
    """Sandboxes of the E2B cloud; belongs to the event loop it is first used in.

    Args:
        base: Rules IMAGE=TEMPLATE: what `FROM` and `docker_image` stand for.
        template: The template of images that no rule names; without it those are refused.
        build: Lets the service build Dockerfiles with `RUN` (it pulls their base images itself); without it what they
            run is run in a sandbox of the template that the base image stands for.
        api_key: The key; the variable E2B_API_KEY when left out.
        lifetime: Seconds a sandbox lives on after this process has died; its time is renewed while it lives.
    """

    name = "e2b"

    def __init__(
        self,
        *,
        base: Sequence[str] = (),
        template: str = "",
        build: bool = False,
        api_key: str = "",
        lifetime: int = 300,
    ) -> None:
        if lifetime < 1:
            raise ValueError(f"lifetime={lifetime}: expected seconds, at least 1")
        self._templates = TemplateMap.parse(base or (() if template else DEFAULT_TEMPLATES), template)
        self._build = build
        self._key = api_key
        self._lifetime = lifetime
        self._cloud: Cloud | None = None
        self._builder: ImageBuilder | None = None
        self._sandboxes: set[E2BSandbox] = set()
        self._listings: dict[tuple[str, str], dict[str, Entry]] = {}
        self._listing = asyncio.Lock()
        self._discarded: set[str] = set()
        self._deletions: set[asyncio.Task[None]] = set()

    async def capabilities(self) -> Capabilities:
        """See `SandboxBackend.capabilities`; asks the service whether it takes the key."""
        await self._prepared().sandboxes()
        return Capabilities(dockerfile_run=True, users=True, snapshot=True, networks=MODES, limits=ENFORCED)

    async def build(self, task: Task) -> Image:
        """See `SandboxBackend.build`."""
        return await self._image_builder().build(task)

    async def template_image(self, template: str) -> Image:
        """A template as an image: needs no task."""
        return await self._image_builder().template_image(template)

    async def start(
        self, origin: Image | Snapshot, *, limits: Limits | None = None, network: Network = NO_NETWORK
    ) -> E2BSandbox:
        """See `SandboxBackend.start`."""
        cloud = self._prepared()
        limits = limits or Limits()
        network_options(network)
        if isinstance(origin, Image):
            check_limits(limits, origin)
            return await self._start(origin.reference, origin, limits, network)
        check_limits(limits, origin.image)
        if origin.reference in self._discarded:
            raise SandboxError(f"snapshot {origin.reference} was discarded: make another")
        return await self._start(
            origin.reference, origin.image, limits, network, own=cloud.frozen_running.get(origin.reference, ())
        )

    async def _start(
        self, template: str, image: Image, limits: Limits, network: Network, *, own: Sequence[str] = ()
    ) -> E2BSandbox:
        wire, processes, keeper = await self._machine(template, limits, network, own)
        sandbox = E2BSandbox(
            wire, processes, keeper, image=image, limits=limits, network=network, backend=self, template=template
        )
        self._sandboxes.add(sandbox)
        return sandbox

    async def _machine(
        self, template: str, limits: Limits, network: Network, own: Sequence[str] = ()
    ) -> tuple[Wire, Processes, Keeper]:
        cloud = self._prepared()
        machine = await cloud.create(template, network)
        keeper = Keeper(machine, self._lifetime)
        try:
            if needs_info(limits):
                check_machine(limits, await attempted("asking for a sandbox's size", machine.get_info))
            wire = Wire(machine)
            processes = Processes(wire, own)
            if own:  # the snapshot holds what ran when it was made
                await processes.kill_all()
            await processes.learn()
        except BaseException:
            await asyncio.shield(keeper.stop())
            await asyncio.shield(_give_up(cloud, machine.sandbox_id))
            raise
        return wire, processes, keeper

    async def machine_with_files_of(self, sandbox: E2BSandbox) -> tuple[str, Wire, Processes, Keeper]:
        """Another machine with the files of a sandbox whose service a command has killed; the snapshot it is made from.

        Raises:
            SandboxLostError: It cannot be had.
        """
        cloud = self._prepared()
        try:
            reference = await cloud.freeze_files(sandbox)
            if not reference:
                raise SandboxLostError(f"sandbox {sandbox.id}: the E2B service makes no snapshot of files alone here")
            self._discarded.add(reference)  # it goes with the sandbox
            try:
                return reference, *await self._machine(reference, sandbox.limits, sandbox.network)
            except SandboxError:
                self._delete_unused(reference)
                raise
        except SandboxError as error:
            raise SandboxLostError(f"sandbox {sandbox.id}: a command has killed the service in it: {error}") from error

    def left(self, before: str) -> None:
        """Takes note that a sandbox has left a template or snapshot for another one."""
        if before in self._discarded:
            self._delete_unused(before)

    async def listings(self, image: Image, roots: Sequence[str]) -> Mapping[str, Entry]:
        """What lies at and below some paths in a fresh sandbox of an image; looked up once for each."""
        async with self._listing:
            missing = [root for root in roots if (image.reference, root) not in self._listings]
            if missing:
                fresh = await self._start(image.reference, image, Limits(), NO_NETWORK)
                try:
                    for root in missing:
                        self._listings[image.reference, root] = await fresh.listed(root)
                finally:
                    await fresh.stop()
        return {path: entry for root in roots for path, entry in self._listings[image.reference, root].items()}

    async def freeze(self, sandbox: E2BSandbox) -> str:
        """A snapshot of a sandbox: its id."""
        return await self._prepared().freeze(sandbox)

    def forget(self, sandbox: E2BSandbox) -> None:
        """Takes note that a sandbox has stopped."""
        self._sandboxes.discard(sandbox)
        if sandbox.template in self._discarded:
            self._delete_unused(sandbox.template)

    async def discard(self, snapshot: Snapshot) -> None:
        """See `SandboxBackend.discard`."""
        self._discarded.add(snapshot.reference)
        self._delete_unused(snapshot.reference)
        if self._deletions:
            await asyncio.gather(*self._deletions)

    async def stale(self, *, images_unused_for: float | None = None) -> tuple[Stale, ...]:
        """See `SandboxBackend.stale`.

        The service does not tell when a snapshot was last used, so no image is ever listed; its dashboard shows those
        of this project by their names, `envolve-…`.
        """
        del images_unused_for
        return tuple(
            Stale("sandbox", info.sandbox_id, f"of {info.metadata[owners.OWNER]}, started {info.started_at:%F %H:%M}")
            for info in await self._prepared().sandboxes()
            if owners.is_dead(info.metadata)
        )

    async def sweep(self, *, images_unused_for: float | None = None) -> int:
        """See `SandboxBackend.sweep`."""
        stale = await self.stale(images_unused_for=images_unused_for)
        cloud = self._prepared()
        return sum(await asyncio.gather(*(cloud.kill(one.name) for one in stale)))

    async def close(self) -> None:
        """See `SandboxBackend.close`."""
        await asyncio.gather(*(sandbox.stop() for sandbox in list(self._sandboxes)))
        if self._deletions:
            await asyncio.gather(*self._deletions)

    def _prepared(self) -> Cloud:
        if self._cloud is None:
            key = self._key or os.environ.get("E2B_API_KEY", "")
            if not key:
                raise SandboxUnavailableError(KEY_MISSING)
            self._cloud = Cloud({"api_key": key}, self._lifetime, self._start_for_build)
        return self._cloud

    def _image_builder(self) -> ImageBuilder:
        if self._builder is None:
            self._builder = ImageBuilder(self._prepared(), self._templates, build=self._build)
        return self._builder

    async def _start_for_build(self, image: Image, limits: Limits, network: Network) -> E2BSandbox:
        return await self._start(image.reference, image, limits, network)

    def _delete_unused(self, reference: str) -> None:
        if any(sandbox.template == reference for sandbox in self._sandboxes):
            return
        self._discarded.discard(reference)
        deletion = asyncio.create_task(self._prepared().delete_snapshot(reference))
        self._deletions.add(deletion)
        deletion.add_done_callback(self._deletions.discard)


async def _give_up(cloud: Cloud, sandbox: str) -> None:
    try:
        await cloud.kill(sandbox)
    except SandboxLostError:
        return
