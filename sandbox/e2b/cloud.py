"""What the back end asks of the cloud beside single sandboxes: starting, freezing, listing."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from e2b import AsyncSandbox, SandboxQuery
from e2b.exceptions import SandboxException

from sandbox.e2b import owners
from sandbox.e2b.failures import attempted
from sandbox.e2b.networks import network_options
from sandbox.protocol import Image, Limits

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from e2b.connection_config import ApiParams
    from e2b.sandbox.sandbox_api import SandboxInfo, SnapshotMode

    from sandbox.e2b.sandbox import E2BSandbox
    from sandbox.protocol import Network

_REFUSES_FILES_ONLY = (400, 409)


class Cloud:
    """The service.

    Args:
        params: How it is reached.
        lifetime: Seconds a sandbox lives on when nobody renews its time.
        start: Starts a sandbox of a template or snapshot, for building.
    """

    def __init__(
        self, params: ApiParams, lifetime: int, start: Callable[[Image, Limits, Network], Awaitable[E2BSandbox]]
    ) -> None:
        self.params = params
        self.lifetime = lifetime
        self._start = start
        self.frozen_running: dict[str, tuple[str, ...]] = {}
        """The sandbox's own processes of snapshots that hold running ones, too."""

    async def start_from(self, template: str, network: Network) -> E2BSandbox:
        """A sandbox of a template for work on an image."""
        return await self._start(Image(template), Limits(), network)

    async def create(self, template: str, network: Network) -> AsyncSandbox:
        """Creates a sandbox.

        Raises:
            UnsupportedTaskError: The network cannot be had.
            SandboxError: The service failed, or has no such template.
        """
        options = network_options(network)
        key = str(uuid.uuid4())  # a request that is sent twice makes one sandbox
        return await attempted(
            f"starting a sandbox of the template {template}",
            lambda: AsyncSandbox.create(
                template,
                timeout=self.lifetime,
                metadata=owners.labels(),
                idempotency_key=key,
                **options,
                **self.params,
            ),
        )

    async def freeze(self, sandbox: E2BSandbox, name: str | None = None) -> str:
        """Makes a snapshot of a sandbox's files; its id.

        Where the service makes none of files alone, running processes are in it, too: `start` kills those.

        Raises:
            SandboxError: The service failed.
        """
        reference = await self.freeze_files(sandbox, name)
        if not reference:
            reference = await attempted(f"snapshot of sandbox {sandbox.id}", lambda: _snapshot(sandbox, name, "full"))
            self.frozen_running[reference] = sandbox.processes.own
        return reference

    async def freeze_files(self, sandbox: E2BSandbox, name: str | None = None) -> str:
        """Makes a snapshot without processes; its id, or "" where the service makes none of that kind.

        Raises:
            SandboxError: The service failed.
        """

        async def make() -> str:
            try:
                return await _snapshot(sandbox, name, "filesystem")
            except SandboxException as error:
                if error.status_code in _REFUSES_FILES_ONLY:
                    return ""
                raise

        return await attempted(f"snapshot of sandbox {sandbox.id}", make)

    async def delete_snapshot(self, reference: str) -> None:
        """Deletes a snapshot; one that is not there is fine."""
        self.frozen_running.pop(reference, None)
        await attempted(
            f"deleting snapshot {reference}", lambda: AsyncSandbox.delete_snapshot(reference, **self.params)
        )

    async def snapshot_named(self, name: str) -> str:
        """The id of a snapshot, or "" where there is none of that name."""

        async def ask() -> str:
            pages = AsyncSandbox.list_snapshots(name=name, **self.params)
            while pages.has_next:
                for snapshot in await pages.next_items():
                    if any(_bare(known) == name for known in snapshot.names):
                        return snapshot.snapshot_id
            return ""

        return await attempted(f"asking for snapshot {name}", ask)

    async def sandboxes(self) -> Iterable[SandboxInfo]:
        """All sandboxes that this back end has started, by whatever process."""

        async def ask() -> list[SandboxInfo]:
            found: list[SandboxInfo] = []
            pages = AsyncSandbox.list(query=SandboxQuery(metadata=owners.OURS), **self.params)
            while pages.has_next:
                found += await pages.next_items()
            return found

        return await attempted("listing sandboxes", ask)

    async def kill(self, sandbox: str) -> bool:
        """Kills a sandbox; whether it was there."""
        return await attempted(f"killing sandbox {sandbox}", lambda: AsyncSandbox.kill(sandbox, **self.params))


async def _snapshot(sandbox: E2BSandbox, name: str | None, mode: SnapshotMode) -> str:
    return (await sandbox.wire.cloud.create_snapshot(name, mode=mode)).snapshot_id


def _bare(name: str) -> str:
    """A snapshot's name without the team in front and the tag behind."""
    return name.rpartition("/")[2].partition(":")[0]
