"""What a check works with: the back end, an image, sandboxes that are stopped behind it, a folder of its own."""

from __future__ import annotations

import asyncio
import os
import secrets
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import psutil

from sandbox.conformance.checks import NotOfferedError
from sandbox.errors import UnsupportedTaskError
from sandbox.protocol import Limits, Network

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable

    from sandbox.conformance.subject import Subject
    from sandbox.protocol import Capabilities, Image, NetworkMode, Sandbox, SandboxBackend, Snapshot

T = TypeVar("T")
TASK_FOLDER = Path(__file__).parent / "task"
LIMITS = Limits(output_bytes=1 << 16, timeout=120)
"""What a check's sandboxes may use where the check itself says nothing: the protocol's own, less output."""

_MODES: tuple[NetworkMode, ...] = ("none", "public", "host", "allowlist")


@dataclass(slots=True)
class Stage:
    """What a check is handed.

    Attributes:
        subject: Makes more back ends of the same kind.
        backend: One of them, shared by all checks.
        capabilities: What that one says it can do.
        image: The built-in task's environment.
        folder: A new, empty folder of this machine.
        place: An absolute path inside for the check's own files: no other check has the same.
    """

    subject: Subject
    backend: SandboxBackend
    capabilities: Capabilities
    image: Image
    folder: Path
    place: str = field(default_factory=lambda: f"/tmp/envolve-conformance/{secrets.token_hex(6)}")  # noqa: S108

    @property
    def isolated(self) -> bool:
        """Whether a command can only harm its own sandbox, so that harm may be tried."""
        return self.capabilities.networks != {"host"}

    @property
    def network(self) -> Network:
        """The narrowest network that is offered."""
        return narrowest_network(self.capabilities)

    def child_env(self) -> dict[str, str]:
        """The environment of another process that is to find the same rooms as this one."""
        home = str(Path(__file__).parents[2])
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([home, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]),
        }

    @asynccontextmanager
    async def sandbox(
        self, limits: Limits = LIMITS, *, origin: Image | Snapshot | None = None, network: Network | None = None
    ) -> AsyncIterator[Sandbox]:
        """A sandbox for the length of a `with` block, with the folder `place` in it."""
        running = await self.start(limits, origin=origin, network=network)
        try:
            await running.exec(["mkdir", "-p", self.place], cwd="/")
            yield running
        finally:
            await asyncio.shield(running.stop())

    async def start(
        self, limits: Limits = LIMITS, *, origin: Image | Snapshot | None = None, network: Network | None = None
    ) -> Sandbox:
        """A sandbox that the check stops itself."""
        return await self.backend.start(origin or self.image, limits=limits, network=network or self.network)


def narrowest_network(capabilities: Capabilities) -> Network:
    """The network that reaches least of those that are offered."""
    return Network(next(mode for mode in _MODES if mode in capabilities.networks))


def missing(needs: tuple[str, ...], capabilities: Capabilities) -> str:
    """The first of the needed capabilities that is not there; "" when all are."""
    for need in needs:
        group, _, name = need.partition(".")
        match group:
            case "limits":
                there = name in capabilities.limits
            case "networks":
                there = name in capabilities.networks
            case "isolation":
                there = capabilities.networks != {"host"}
            case _:
                there = bool(getattr(capabilities, group))
        if not there:
            return need
    return ""


async def offered(what: str, work: Awaitable[T]) -> T:
    """Waits for work that the protocol lets a back end refuse.

    Raises:
        NotOfferedError: It did.
    """
    try:
        return await work
    except UnsupportedTaskError as error:
        raise NotOfferedError(f"{what}: {error}") from error


def processes_with(mark: str) -> list[int]:
    """Processes of this machine, this one left out, with `mark` in their command line."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != psutil.Process().pid and any(mark in word for word in process.cmdline()):
                found.append(process.pid)
        except psutil.Error:
            continue
    return sorted(found)


async def gone(mark: str, *, seconds: float = 20.0) -> bool:
    """Waits until no process of this machine has `mark` in its command line; false when some stay."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while processes_with(mark):
        if loop.time() > until:
            return False
        await asyncio.sleep(0.1)
    return True
