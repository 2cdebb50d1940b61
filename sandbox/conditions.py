"""Sandboxes under other conditions than usual, to see what a task leans on: a back end around another one.

Each command of a sandbox that `Conditioned` made, and of every sandbox that a verification starts beside it, runs under
the same conditions: another clock, host name, locale, time zone, processor count, ... Which of them can be had in an
image is found out by `sandbox.perturbing`.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from sandbox.errors import SandboxError
from sandbox.protocol import NO_NETWORK

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from sandbox.protocol import (
        Capabilities,
        ExecResult,
        Image,
        Limits,
        Network,
        Sandbox,
        SandboxBackend,
        Snapshot,
        Stale,
        Stream,
    )
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task

FOLDER: Final = "/dev/shm/.conditions"  # noqa: S108 - in memory: no part of a snapshot, and no change to the image
"""Where files that a condition needs lie in a sandbox."""

_BUSY: Final = "while :; do :; done"
_LOAD_SECONDS: Final = 24 * 3600.0


@runtime_checkable
class Renamable(Protocol):
    """A sandbox whose host name can be changed from outside."""

    async def set_host_name(self, name: str) -> None:
        """Gives it another host name; all its processes see it at once.

        Raises:
            SandboxError: It could not be done.
        """
        ...


@dataclass(frozen=True, slots=True)
class Condition:
    """One way in which commands run otherwise than usual.

    Attributes:
        name: Such as `clock` or `host-name`.
        said: The same in words, for reports: "the clock shows another year".
        env: Variables that are set, unless the task sets one of `settled_by` itself.
        front: Variables like `PATH` that get one more entry, at the front.
        settled_by: Variables by which a task decides the matter itself; then nothing is set.
        prefix: Words in front of each command.
        files: Files by path, written for everybody to read before the first command.
        host_name: The host name; "" leaves it.
        load: The processor on which a second sandbox spins meanwhile; `None` for no load.
        patience: Every time-out is longer by this factor.
    """

    name: str
    said: str = ""
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    front: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    settled_by: frozenset[str] = frozenset()
    prefix: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))
    host_name: str = ""
    load: int | None = None
    patience: float = 1.0

    def onto(self, given: dict[str, str], seen: Mapping[str, str]) -> None:
        """Adds its variables to those `given` with a command; `seen` are those and the image's."""
        if self.settled_by.isdisjoint(seen):
            given.update(self.env)
        for name, entry in self.front.items():
            behind = given.get(name, seen.get(name))
            given[name] = f"{entry}:{behind}" if behind else entry


class ConditionedBackend:
    """A back end whose sandboxes run everything under some conditions.

    Args:
        backend: Makes the sandboxes.
        conditions: What is otherwise; a later one's prefix comes nearer to the command.
    """

    def __init__(self, backend: SandboxBackend, conditions: Sequence[Condition]) -> None:
        self._backend = backend
        self._conditions = tuple(conditions)
        self.name = backend.name

    async def capabilities(self) -> Capabilities:
        """See `SandboxBackend.capabilities`."""
        return await self._backend.capabilities()

    async def build(self, task: Task) -> Image:
        """See `SandboxBackend.build`."""
        return await self._backend.build(task)

    async def start(
        self, origin: Image | Snapshot, *, limits: Limits | None = None, network: Network = NO_NETWORK
    ) -> Sandbox:
        """See `SandboxBackend.start`."""
        return await self.over(await self._backend.start(origin, limits=limits, network=network))

    async def over(self, sandbox: Sandbox) -> Sandbox:
        """The same sandbox, under the conditions; stopped when that cannot be had.

        Raises:
            SandboxError: A file could not be written, or the host name not be changed.
        """
        try:
            for condition in self._conditions:
                for path, content in condition.files.items():
                    await put(sandbox, path, content)
                if condition.host_name:
                    await _rename(sandbox, condition.host_name)
        except BaseException:
            await asyncio.shield(sandbox.stop())
            raise
        return ConditionedSandbox(sandbox, self, self._conditions)

    async def discard(self, snapshot: Snapshot) -> None:
        """See `SandboxBackend.discard`."""
        await self._backend.discard(snapshot)

    async def stale(self, *, images_unused_for: float | None = None) -> tuple[Stale, ...]:
        """See `SandboxBackend.stale`."""
        return await self._backend.stale(images_unused_for=images_unused_for)

    async def sweep(self, *, images_unused_for: float | None = None) -> int:
        """See `SandboxBackend.sweep`."""
        return await self._backend.sweep(images_unused_for=images_unused_for)

    async def close(self) -> None:
        """See `SandboxBackend.close`."""
        await self._backend.close()


class ConditionedSandbox:
    """A sandbox whose commands run under conditions; made by `ConditionedBackend`.

    Args:
        sandbox: The sandbox.
        backend: Who made it.
        conditions: What is otherwise.
    """

    def __init__(self, sandbox: Sandbox, backend: ConditionedBackend, conditions: tuple[Condition, ...]) -> None:
        self._sandbox = sandbox
        self._conditions = conditions
        self._patience = max((condition.patience for condition in conditions), default=1.0)
        self.backend: SandboxBackend = backend
        self.id, self.image = sandbox.id, sandbox.image
        self.limits, self.network = sandbox.limits, sandbox.network
        self.upload, self.download = sandbox.upload, sandbox.download
        self.read_file, self.write_file = sandbox.read_file, sandbox.write_file
        self.remake_directory, self.remove = sandbox.remake_directory, sandbox.remove
        self.changed_files = sandbox.changed_files
        self.pack, self.unpack = sandbox.pack, sandbox.unpack
        self.kill_processes, self.snapshot, self.stop = sandbox.kill_processes, sandbox.snapshot, sandbox.stop

    async def exec(
        self,
        command: str | Sequence[str],
        *,
        stdin: bytes | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | int | None = None,
        timeout: float | None = None,
        clean_env: bool = False,
        on_output: Callable[[Stream, bytes], None] | None = None,
    ) -> ExecResult:
        """See `Sandbox.exec`."""
        given = dict(env or {})
        seen = dict(given) if clean_env else {**self.image.env, **given}
        prefix: tuple[str, ...] = ()
        for condition in self._conditions:
            condition.onto(given, seen)
            prefix += condition.prefix
        if prefix and command:
            command = [*prefix, *(("bash", "-c", command) if isinstance(command, str) else command)]
        return await self._sandbox.exec(
            command,
            stdin=stdin,
            cwd=cwd,
            env=given,
            user=user,
            timeout=(self.limits.timeout if timeout is None else timeout) * self._patience,
            clean_env=clean_env,
            on_output=on_output,
        )


@asynccontextmanager
async def running_under(
    sandboxes: Sandboxes, origin: Task | Image | Snapshot, conditions: Sequence[Condition]
) -> AsyncIterator[Sandbox]:
    """A sandbox as `Sandboxes.running` gives it, under conditions, with the load they ask for beside it.

    Raises:
        SandboxError: As there, or a condition cannot be had.
    """
    async with sandboxes.running(origin) as plain:
        changed = await ConditionedBackend(plain.backend, conditions).over(plain)
        async with _loaded(plain, {one.load for one in conditions if one.load is not None}):
            yield changed


async def put(sandbox: Sandbox, path: str, content: bytes) -> None:
    """Writes one file of a condition, by a command: not every back end can write to memory from outside.

    Raises:
        SandboxError: It could not be written.
    """
    script = 'umask 022 && mkdir -p "${1%/*}" && cat >"$1" && chmod 755 "$1"'
    ran = await sandbox.exec(
        ["bash", "-c", script, "bash", path], stdin=content, cwd="/", user=0, clean_env=True, timeout=60
    )
    if not ran.ok:
        raise SandboxError(f"a condition's file {path} could not be written: {ran.error_text.strip()}")


async def _rename(sandbox: Sandbox, name: str) -> None:
    if not isinstance(sandbox, Renamable):
        raise SandboxError(f"the back end {sandbox.backend.name} cannot change a host name: leave that condition out")
    await sandbox.set_host_name(name)


@asynccontextmanager
async def _loaded(sandbox: Sandbox, processors: set[int]) -> AsyncIterator[None]:
    """Keeps processors busy, from a sandbox of the same image: nothing of it can be seen in the one under test."""
    if not processors:
        yield
        return
    busy = await sandbox.backend.start(sandbox.image, limits=sandbox.limits)
    spinning = [
        asyncio.create_task(
            busy.exec(["taskset", "-c", str(one), "bash", "-c", _BUSY], cwd="/", clean_env=True, timeout=_LOAD_SECONDS)
        )
        for one in sorted(processors)
    ]
    try:
        yield
    finally:
        await asyncio.shield(busy.stop())
        for task in spinning:
            task.cancel()
            with suppress(SandboxError, asyncio.CancelledError):
                await task
