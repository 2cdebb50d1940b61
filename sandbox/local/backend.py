"""The local back end: hands out sandboxes that are this very machine; see the package for what that means."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.errors import SandboxError, UnsupportedTaskError
from sandbox.local import marks
from sandbox.local.groups import GroupLimits
from sandbox.local.machine import REFERENCE, machine_image
from sandbox.local.permission import check_permitted
from sandbox.local.sandbox import LocalSandbox
from sandbox.protocol import NO_NETWORK, Capabilities, Image, Limits, Snapshot, Stale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.protocol import Network
    from sandbox.task import Task
    from sandbox.task.files import Finding

_CAP_SYS_RESOURCE = 24
_numbers = itertools.count(1)


class LocalBackend:
    """Commands on this machine, WITHOUT ISOLATION; refuses to work until it is told that this is what is wanted.

    Args:
        base: As for other back ends; nothing is built here.
        i_am_in_a_sandbox: Says that this machine may be lost; ENVOLVE_LOCAL=1 says the same.
        as_it_stands: Takes the machine for a task's image even where files of the task's Dockerfile are missing.
    """

    name = "local"

    def __init__(
        self, *, base: Sequence[str] = (), i_am_in_a_sandbox: bool = False, as_it_stands: bool = False
    ) -> None:
        self._base = tuple(base)
        self._told = i_am_in_a_sandbox
        self._as_it_stands = as_it_stands
        self._groups: GroupLimits | None = None
        self._sandboxes: set[LocalSandbox] = set()
        self.findings: dict[str, tuple[Finding, ...]] = {}

    async def capabilities(self) -> Capabilities:
        """See `SandboxBackend.capabilities`: no isolation, no users, no snapshots, this machine's own network."""
        per_process = {"output_bytes", "timeout"} | ({"file_size_mb", "open_files"} if _limits_hold() else set())
        return Capabilities(
            networks=frozenset({"host"}), limits=(await self._ready()).enforced | frozenset(per_process)
        )

    async def build(self, task: Task) -> Image:
        """Takes this machine for the task's image, see `sandbox.local.machine`; `findings` says what is not sure.

        Raises:
            ImageError: The task's environment is wrong.
            UnsupportedTaskError: The machine is not what the task asks for.
        """
        await self._ready()
        image, findings = await asyncio.to_thread(machine_image, task, self._base, as_it_stands=self._as_it_stands)
        self.findings[task.name] = findings
        return image

    async def machine(self) -> Image:
        """This machine as an image; needs no task."""
        await self._ready()
        return Image(REFERENCE, base=REFERENCE)

    async def start(
        self, origin: Image | Snapshot, *, limits: Limits | None = None, network: Network = NO_NETWORK
    ) -> LocalSandbox:
        """See `SandboxBackend.start`."""
        groups = await self._ready()
        if isinstance(origin, Snapshot) or origin.reference != REFERENCE:
            raise SandboxError(
                f"{origin.reference}: the sandbox `local` has one image, {REFERENCE!r}, and no snapshots"
            )
        if network.mode != "host":
            raise UnsupportedTaskError(
                f"the sandbox `local` has no network {network.mode!r}: it shares this machine's (host)"
            )
        asked = limits or Limits()
        self._check_limits(asked, (await self.capabilities()).limits)
        name = f"{marks.owner_name()}-local-{next(_numbers)}"
        sandbox = LocalSandbox(
            name, origin, asked, network, groups.make(name, asked), backend=self, on_stop=self._sandboxes.discard
        )
        self._sandboxes.add(sandbox)
        return sandbox

    async def discard(self, snapshot: Snapshot) -> None:
        """See `SandboxBackend.discard`: there are none."""
        del snapshot

    async def stale(self, *, images_unused_for: float | None = None) -> tuple[Stale, ...]:
        """See `SandboxBackend.stale`: processes of sandboxes whose owner is dead."""
        del images_unused_for
        found = await asyncio.to_thread(marks.marked_sandboxes)
        return tuple(
            Stale("sandbox", name, f"{count} processes, started by the process {name.partition('-')[0]}")
            for name, count in sorted(found.items())
            if not marks.owner_lives(name)
        )

    async def sweep(self, *, images_unused_for: float | None = None) -> int:
        """See `SandboxBackend.sweep`."""
        stale = await self.stale(images_unused_for=images_unused_for)
        for one in stale:
            await asyncio.to_thread(marks.kill, marks.Mark(f"{marks.SANDBOX}={one.name}".encode()))
        if self._groups is not None:
            await asyncio.to_thread(self._groups.sweep)
        return len(stale)

    async def close(self) -> None:
        """See `SandboxBackend.close`."""
        await asyncio.gather(*(sandbox.stop() for sandbox in list(self._sandboxes)))

    async def _ready(self) -> GroupLimits:
        check_permitted(told=self._told)
        if self._groups is None:
            self._groups = await asyncio.to_thread(GroupLimits, f"local-{next(_numbers)}")
            await self.sweep()
        return self._groups

    @staticmethod
    def _check_limits(asked: Limits, enforced: frozenset[str]) -> None:
        """Refuses a limit that cannot be had and is not just the protocol's default.

        Raises:
            UnsupportedTaskError: Names it.
        """
        usual = Limits()
        for field in dataclasses.fields(Limits):
            value = getattr(asked, field.name)
            if field.name not in enforced and value is not None and value != getattr(usual, field.name):
                raise UnsupportedTaskError(
                    f"the sandbox `local` cannot keep {field.name}={value} on this machine; leave it out, or take "
                    "another sandbox (--sandbox docker)"
                )


def _limits_hold() -> bool:
    """Whether a command cannot raise its own limits again: root with CAP_SYS_RESOURCE can."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return False
    rights = next((int(line.split()[1], 16) for line in lines if line.startswith("CapEff:")), 0)
    return not rights >> _CAP_SYS_RESOURCE & 1 and shutil.which("sh") is not None
