"""The docker back end: makes sandboxes, builds their images, cleans up behind itself and behind the dead."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
import weakref
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.docker import leftovers
from sandbox.docker.compose import Compose
from sandbox.docker.container import check_limits, container_arguments, enforced_limits
from sandbox.docker.engine import Engine, call_engine
from sandbox.docker.images import Images
from sandbox.docker.labels import labels_for
from sandbox.docker.networks import Networks
from sandbox.docker.pristine import Pristine
from sandbox.docker.proxies import PROXY_IMAGE
from sandbox.docker.sandbox import DockerSandbox, Parts
from sandbox.docker.storage import driver_can_bound
from sandbox.errors import SandboxError, SandboxLostError
from sandbox.image.bases import BaseMap
from sandbox.protocol import NO_NETWORK, Capabilities, Image, Limits, Snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import docker

    from sandbox.docker.changes import Kind
    from sandbox.docker.engine import Facts
    from sandbox.docker.networks import Joined
    from sandbox.protocol import Network, Stale
    from sandbox.task import Task

_MARK_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """A sandbox that is to be started.

    Attributes:
        origin: From what.
        limits: What it may use.
        network: What it may reach.
        before: What differs from the image already.
    """

    origin: Image | Snapshot
    limits: Limits
    network: Network
    before: Mapping[str, Kind]

    @property
    def image(self) -> Image:
        """The image below it all."""
        return self.origin.image if isinstance(self.origin, Snapshot) else self.origin


class DockerBackend:
    """Sandboxes that are Docker containers; belongs to the event loop it is first used in.

    Args:
        base: Rules IMAGE=DIR or IMAGE=TAR: what `FROM` stands for. Images in no rule are the engine's own, or pulled.
        start_timeout: Seconds that the engine may take for any one answer, on a machine that is busy.
        build_args: Values of `ARG`s of Dockerfiles.
        proxy_image: An image with `python3`, for the proxies of networks; a rule of `base` may stand for it.
    """

    name = "docker"

    def __init__(
        self,
        *,
        base: Sequence[str] = (),
        start_timeout: float = 300.0,
        build_args: Mapping[str, str] | None = None,
        proxy_image: str = PROXY_IMAGE,
    ) -> None:
        self._engine = Engine(start_timeout)
        self._images = Images(self._engine, BaseMap.parse(base), dict(build_args or {}))
        self._pristine = Pristine(self._engine)
        self._proxy_image = proxy_image
        self._networks: Networks | None = None
        self._compose: Compose | None = None
        self._swept = False
        self._preparing = asyncio.Lock()
        self._sandboxes: set[DockerSandbox] = set()
        self._snapshots: dict[str, dict[str, Kind]] = {}
        self._discarded: set[str] = set()
        self._marked: dict[str, float] = {}
        self._containers: set[str] = set()
        self._backstop = weakref.finalize(self, _remove_containers, self._containers, os.getpid())

    async def capabilities(self) -> Capabilities:
        """See `SandboxBackend.capabilities`."""
        facts = await self._prepared()
        return Capabilities(
            dockerfile_run=True,
            users=True,
            snapshot=True,
            networks=frozenset({"none", "allowlist", "public", "host"}),
            limits=enforced_limits(facts),
        )

    async def build(self, task: Task) -> Image:
        """See `SandboxBackend.build`."""
        await self._prepared()
        if Compose.wants(task):
            return await (await self._composing()).build(task)
        return await self._images.build(task)

    async def start(
        self, origin: Image | Snapshot, *, limits: Limits | None = None, network: Network = NO_NETWORK
    ) -> DockerSandbox:
        """See `SandboxBackend.start`."""
        facts = await self._prepared()
        limits = limits or Limits()
        check_limits(facts, limits)
        wanted = Wanted(origin, limits, network, self._before(origin))
        await self._mark_used(wanted.image.reference)
        name = f"envolve-{os.getpid()}-{uuid.uuid4().hex[:12]}"
        joined = await self._join(wanted, name)
        starting = asyncio.ensure_future(self._start(facts, wanted, name, joined))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            with suppress(SandboxError):
                await (await starting).stop()
            raise

    async def discard(self, snapshot: Snapshot) -> None:
        """See `SandboxBackend.discard`."""
        if self._snapshots.pop(snapshot.reference, None) is not None:
            self._discarded.add(snapshot.reference)
            await self._remove_discarded()

    async def stale(self, *, images_unused_for: float | None = None) -> tuple[Stale, ...]:
        """See `SandboxBackend.stale`."""
        await self._prepared(sweep=False)
        found = [left.stale for left in await self._left(images_unused_for)]
        return (*found, *await self._any_networks().stale(), *await self._volumes().stale())

    async def sweep(self, *, images_unused_for: float | None = None) -> int:
        """See `SandboxBackend.sweep`."""
        await self._prepared(sweep=False)
        return await self._sweep(images_unused_for)

    async def close(self) -> None:
        """See `SandboxBackend.close`."""
        await asyncio.gather(*(sandbox.stop() for sandbox in list(self._sandboxes)))
        self._discarded |= self._snapshots.keys()
        self._snapshots.clear()
        await self._remove_discarded()
        await self._pristine.close()
        if self._networks is not None:
            await self._networks.close()
            self._networks = self._compose = None
        self._engine.close()

    async def _prepared(self, *, sweep: bool = True) -> Facts:
        async with self._preparing:
            facts = await self._engine.connect()
            if sweep and not self._swept:
                self._swept = True
                await self._sweep(None)
        return facts

    async def _composing(self) -> Compose:
        """What needs networks with proxies, of an image that this engine has; made on first need."""
        if self._networks is None or self._compose is None:
            image = await self._images.by_rule(self._proxy_image)
            self._networks = self._networks or Networks(self._engine.client, labels_for("sandbox"), proxy_image=image)
            self._compose = self._compose or Compose(
                self._engine, self._networks, build_main=self._images.build, resolve=self._images.name_of
            )
        return self._compose

    async def _join(self, wanted: Wanted, name: str) -> Joined:
        """A place in the network that was asked for, with the services of a compose task beside it."""
        if Compose.holds(wanted.image):
            return await (await self._composing()).join(wanted.image, wanted.network, name, wanted.limits)
        if wanted.network.mode not in ("none", "host"):
            await self._composing()
        networks = self._networks or self._any_networks()
        return await networks.join(wanted.network, name)

    def _volumes(self) -> Compose:
        """For the sweep of volumes."""
        return Compose(self._engine, self._any_networks(), build_main=self._images.build, resolve=self._images.name_of)

    def _any_networks(self) -> Networks:
        """For what needs no proxy: the sweep, and sandboxes without a network of ours."""
        return Networks(self._engine.client, labels_for("sandbox"))

    async def _left(self, images_unused_for: float | None) -> list[leftovers.Left]:
        engine, client = self._engine, self._engine.client
        found = await engine.call("looking for leftovers", leftovers.dead_containers, client)
        found += await engine.call("looking for leftovers", leftovers.dead_snapshots, client)
        if images_unused_for is not None:
            found += await engine.call("looking for images", leftovers.unused_images, client, images_unused_for)
        return found

    async def _sweep(self, images_unused_for: float | None) -> int:
        engine, client = self._engine, self._engine.client
        swept = 0
        for left in await self._left(images_unused_for):
            if left.stale.kind in ("snapshot", "image"):
                await engine.call("removing an image", leftovers.remove_image, client, left.id)
            else:
                await engine.call("removing a sandbox", leftovers.remove_container, client, left.id)
                swept += left.stale.kind == "sandbox"
        await self._any_networks().sweep()
        await self._volumes().sweep()
        return swept

    async def _mark_used(self, name: str) -> None:
        """Keeps the engine's record of last uses fresh, without asking it at every start."""
        now = time.monotonic()
        if name.startswith("envolve/") and now - self._marked.get(name, -_MARK_SECONDS) >= _MARK_SECONDS:
            try:
                await self._engine.call("marking an image", leftovers.mark_used, self._engine.client, name)
            except SandboxLostError as error:
                raise SandboxError(f"image {name}: not in the engine any more; build the task again") from error
            self._marked[name] = now

    def _before(self, origin: Image | Snapshot) -> Mapping[str, Kind]:
        """What differs from the image already when a sandbox starts."""
        if isinstance(origin, Image):
            return {}
        if origin.reference not in self._snapshots:
            raise SandboxError(f"snapshot {origin.reference}: unknown here; snapshots live as long as their back end")
        return self._snapshots[origin.reference]

    async def _start(self, facts: Facts, wanted: Wanted, name: str, joined: Joined) -> DockerSandbox:
        engine, reference = self._engine, wanted.origin.reference
        arguments = container_arguments(facts, wanted.limits, joined.create)
        try:
            container = await engine.call(
                f"starting a sandbox of {reference}", _create, engine.client, reference, name, arguments
            )
        except BaseException:
            await joined.release()
            raise
        self._containers.add(container)
        unwanted = await engine.call("asking for a sandbox", _own_variables, engine.client, container)
        parts = Parts(
            engine,
            facts.address,
            container,
            name,
            unwanted,
            joined,
            wanted.before,
            self._pristine.archives,
            watch_storage=not driver_can_bound(facts.info),
        )
        sandbox = DockerSandbox(
            wanted.image,
            wanted.limits,
            wanted.network,
            parts,
            backend=self,
            on_stop=self._stop_sandbox,
            freeze=self._freeze,
        )
        self._sandboxes.add(sandbox)
        try:
            await sandbox.run_first_process()
        except BaseException:
            await sandbox.stop()
            raise
        return sandbox

    async def _stop_sandbox(self, sandbox: DockerSandbox) -> None:
        container = sandbox.parts.container
        await self._engine.call("stopping a sandbox", leftovers.remove_container, self._engine.client, container)
        self._containers.discard(container)
        self._sandboxes.discard(sandbox)
        await sandbox.parts.joined.release()
        await self._remove_discarded()

    async def _freeze(self, sandbox: DockerSandbox) -> Snapshot:
        changes = await sandbox.changes()
        client = self._engine.client
        labels = labels_for("snapshot")
        made = await self._engine.call(
            "making a snapshot",
            client.api.commit,
            sandbox.parts.container,
            conf={"Labels": labels},
            pause=True,
        )
        self._snapshots[str(made["Id"])] = changes
        return Snapshot(str(made["Id"]), sandbox.image)

    async def _remove_discarded(self) -> None:
        """Removes discarded snapshots that no sandbox and no later snapshot stands on any more."""
        progress = bool(self._discarded)
        while progress:
            progress = False
            for image in sorted(self._discarded):
                if await self._engine.call("removing a snapshot", leftovers.remove_image, self._engine.client, image):
                    self._discarded.discard(image)
                    progress = bool(self._discarded)


def _create(client: docker.DockerClient, image: str, name: str, arguments: dict[str, object]) -> str:
    made = client.containers.create(image, name=name, **arguments)  # type: ignore[arg-type]
    return str(made.id)


def _own_variables(client: docker.DockerClient, container: str) -> list[str]:
    """Names of the variables that the image gives to each command."""
    rows = client.api.inspect_container(container)["Config"].get("Env") or []
    return [str(row).partition("=")[0] for row in rows]


def _remove_containers(containers: set[str], owner: int) -> None:
    """Removes containers that nobody stopped; a forked copy of their owner has no say in it."""
    if not containers or os.getpid() != owner:
        return
    import docker

    with suppress(SandboxError):
        client = call_engine("connecting", docker.from_env)
        for container in containers:
            with suppress(SandboxError):
                leftovers.remove_container(client, container)
        client.close()
