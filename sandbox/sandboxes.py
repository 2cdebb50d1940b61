"""Sandboxes for a whole run: one back end, one bound on how many live at once, always stopped."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from sandbox.protocol import NO_NETWORK, Image, Limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sandbox.protocol import Network, Sandbox, SandboxBackend, Snapshot
    from sandbox.task import Task
    from sandbox.trial.network import NetworkChoice


class Sandboxes:
    """Hands out sandboxes of one back end, at most `concurrency` at a time.

    Args:
        backend: Makes them.
        concurrency: How many may live at once.
        limits: What each may use where a task says nothing.
        network: Which network a task's sandbox gets where the caller names none (`sandbox.trial.network`); those of an
            image or a snapshot get none, as nobody knows what their task asks for.
    """

    def __init__(
        self,
        backend: SandboxBackend,
        *,
        concurrency: int = 4,
        limits: Limits | None = None,
        network: NetworkChoice = "none",
    ) -> None:
        self.backend = backend
        self.limits = limits or Limits()
        self.network: NetworkChoice = network
        self._slots = asyncio.Semaphore(concurrency)

    async def build(self, task: Task) -> Image:
        """Builds the task's environment (see `SandboxBackend.build`)."""
        return await self.backend.build(task)

    @asynccontextmanager
    async def running(
        self, origin: Task | Image | Snapshot, *, limits: Limits | None = None, network: Network | None = None
    ) -> AsyncIterator[Sandbox]:
        """A sandbox of a task, an image or a snapshot for the length of a `with` block; stopped whatever happens.

        A task's own `[environment] cpus` and `memory_mb` win over the limits of the run, and `limits` over both.
        """
        from sandbox.task import Task
        from sandbox.task.limits import task_limits

        async with self._slots:
            asked = limits
            if isinstance(origin, Task):
                asked = limits or task_limits(origin, self.limits)
                network = network or await self._network_of(origin)
                origin = await self.build(origin)
            sandbox = await self.backend.start(origin, limits=asked or self.limits, network=network or NO_NETWORK)
            try:
                yield sandbox
            finally:
                await asyncio.shield(sandbox.stop())

    async def _network_of(self, task: Task) -> Network:
        if self.network == "none":
            return NO_NETWORK
        from sandbox.trial.network import chosen_network

        return chosen_network(task, self.network, await self.backend.capabilities())[0]
