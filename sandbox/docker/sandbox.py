"""One running sandbox: a container."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from sandbox.docker import archives, inside, transfer
from sandbox.docker.changes import changes_of, later, selected
from sandbox.docker.command import KILLED, Request
from sandbox.docker.environment import env_rows
from sandbox.docker.execution import run_command
from sandbox.docker.pristine import really_changed
from sandbox.docker.processes import LocalProcesses
from sandbox.docker.storage import StorageWatch, written_bytes
from sandbox.errors import SandboxError, SandboxLostError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from sandbox.docker.archives import Archives
    from sandbox.docker.backend import DockerBackend
    from sandbox.docker.changes import Kind
    from sandbox.docker.engine import Engine
    from sandbox.docker.networks import Joined
    from sandbox.docker.wire import Address
    from sandbox.protocol import Change, ExecResult, Image, Limits, Network, Snapshot, Stream

T = TypeVar("T")

_SHELL = "/bin/bash"
_STOPPED = re.compile(r"is not running")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a sandbox is made of.

    Attributes:
        engine: The engine.
        address: Its socket.
        container: Id of the container.
        name: Its name: the sandbox's id.
        image_env: Names of the variables that the engine gives each command by itself.
        joined: Its place in a network.
        before: What differed from the image already when it started: from a snapshot.
        pristine: Gives the files of an image as it was built.
        watch_storage: Whether what it writes is to be watched.
    """

    engine: Engine
    address: Address
    container: str
    name: str
    image_env: Sequence[str]
    joined: Joined
    before: Mapping[str, Kind]
    pristine: Callable[[str], Awaitable[Archives]]
    watch_storage: bool


class DockerSandbox:
    """A sandbox of the docker back end; made by `DockerBackend.start`.

    Args:
        image: What it was started from.
        limits: What it may use.
        network: What it may reach.
        parts: What it is made of.
        backend: Who made it.
        on_stop: Told when it has stopped.
        freeze: Makes a snapshot of it.
    """

    def __init__(
        self,
        image: Image,
        limits: Limits,
        network: Network,
        parts: Parts,
        *,
        backend: DockerBackend,
        on_stop: Callable[[DockerSandbox], Awaitable[None]],
        freeze: Callable[[DockerSandbox], Awaitable[Snapshot]],
    ) -> None:
        self._image = image
        self._limits = limits
        self._network = network
        self._backend = backend
        self.parts = parts
        self._on_stop = on_stop
        self._freeze = freeze
        self.files = archives.Archives(parts.engine.client, parts.container)
        self.processes: LocalProcesses | None = None
        self.commands: set[int] = set()
        self._starting = asyncio.Lock()
        self.freezing = asyncio.Lock()
        self._stopping: asyncio.Future[None] | None = None
        self._watch: StorageWatch | None = None
        if parts.watch_storage and limits.storage_mb is not None:
            self._watch = StorageWatch(
                lambda: written_bytes(parts.engine, parts.container), self.kill_processes, limits.storage_mb << 20
            )

    @property
    def id(self) -> str:
        """See `Sandbox.id`."""
        return self.parts.name

    @property
    def image(self) -> Image:
        """See `Sandbox.image`."""
        return self._image

    @property
    def limits(self) -> Limits:
        """See `Sandbox.limits`."""
        return self._limits

    @property
    def network(self) -> Network:
        """See `Sandbox.network`."""
        return self._network

    @property
    def backend(self) -> DockerBackend:
        """See `Sandbox.backend`."""
        return self._backend

    async def run_first_process(self) -> None:
        """Starts the container, before the first command and again when its first process has been killed.

        Raises:
            SandboxLostError: It is gone.
            SandboxError: It cannot be started.
        """
        engine, container = self.parts.engine, self.parts.container
        async with self._starting:
            state = (await engine.call("asking for a sandbox", engine.client.api.inspect_container, container))["State"]
            if state.get("Running"):
                return
            await engine.call("starting a sandbox", engine.client.api.start, container)
            state = (await engine.call("asking for a sandbox", engine.client.api.inspect_container, container))["State"]
            if not state.get("Running"):
                raise SandboxError(
                    f"the sandbox ended as soon as it had started (status {state.get('ExitCode')}): does its image "
                    f"have /bin/sh? {state.get('Error', '')}"
                )
            self.processes = await asyncio.to_thread(LocalProcesses.find, container, int(state["Pid"]))
            await self.parts.joined.settle(container)

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
        self.check()
        given = {**({} if clean_env else self._image.env), **self.parts.joined.env, **(env or {})}
        request = Request(
            [_SHELL, "-c", command] if isinstance(command, str) else list(command),
            env_rows(given, self.parts.image_env),
            cwd or self._image.workdir or "/",
            self._image.user if user is None else str(user),
            stdin,
        )
        seconds = self._limits.timeout if timeout is None else timeout
        if self._watch is not None:
            self._watch.begin()
        kills = self._watch.kills if self._watch is not None else 0
        try:
            result = await run_command(self, request, seconds, on_output, any_shell=isinstance(command, str))
        finally:
            if self._watch is not None:
                self._watch.end()
        if self._watch is not None and self._watch.kills > kills and not result.timed_out:
            told = f"killed: the sandbox wrote more than {self._limits.storage_mb} MiB (storage_mb)\n"
            return replace(result, exit_code=KILLED, stderr=result.stderr + told.encode())
        return result

    async def upload(self, source: Path, target: str) -> None:
        """See `Sandbox.upload`; folders there already become root's, 0755; the target itself stays as it is."""
        self.check()
        await self.parts.engine.call("upload", transfer.upload, self.files, source, target)

    async def download(self, source: str, target: Path, *, max_bytes: int = 1 << 30) -> None:
        """See `Sandbox.download`."""
        await self._call("download", transfer.download, source, target, max_bytes)

    async def read_file(self, path: str, *, max_bytes: int = 1 << 20) -> bytes:
        """See `Sandbox.read_file`."""
        self.check()
        found = await self.parts.engine.call("reading a file", _read, self.files, path, max_bytes)
        if isinstance(found, OSError):
            raise found
        return found

    async def write_file(self, path: str, content: bytes, *, mode: int = 0o644) -> None:
        """See `Sandbox.write_file`."""
        await self._call("writing a file", archives.write_file, path, content, mode)

    async def remake_directory(self, path: str, *, mode: int = 0o755) -> None:
        """See `Sandbox.remake_directory`."""
        await self._call("remaking a folder", archives.make_folder, path, mode)

    async def make_folder(self, path: str) -> None:
        """Makes a folder where there is none; what is in one that is there stays."""
        await self._call("making the working directory", archives.make_folder, path, emptied=False)

    async def remove(self, path: str) -> None:
        """See `Sandbox.remove`."""
        found = await self._call("looking at a file", archives.Archives.status, path)
        if found is None:
            return
        await self._call("removing", archives.shrink, path)
        if self.processes is not None and inside.unlink(self.processes.init, path):
            return
        await self.exec(["/bin/rm", "-f", "--", path], cwd="/", user="0:0", clean_env=True)
        if await self._call("looking at a file", archives.Archives.status, path) is not None:
            raise SandboxError(f"{path}: was emptied, yet cannot be removed: the sandbox's /bin/rm does not do it")

    async def changed_files(self, under: Sequence[str] = ("/",)) -> tuple[Change, ...]:
        """See `Sandbox.changed_files`; of a folder in which something changed, another owner is not told."""
        return selected(await self.changes(), under)

    async def changes(self) -> dict[str, Kind]:
        """All that differs from the image."""
        self.check()
        engine = self.parts.engine
        rows = await engine.call("looking at changes", engine.client.api.diff, self.parts.container)
        found, doubtful = changes_of(rows)
        if doubtful:
            image = await self.parts.pristine(self._image.reference)
            for path in await engine.call("comparing", really_changed, self.files, image, doubtful):
                found[path] = "changed"
        return later(self.parts.before, found)

    async def pack(self, paths: Sequence[str], target: Path, *, max_bytes: int = 1 << 30) -> None:
        """See `Sandbox.pack`."""
        await self._call("packing", transfer.pack, paths, target, max_bytes)

    async def unpack(self, archive: Path) -> None:
        """See `Sandbox.unpack`."""
        await self._call("unpacking", transfer.unpack, archive)

    async def kill_processes(self) -> int:
        """See `Sandbox.kill_processes`."""
        self.check()
        if self.processes is not None:
            return await self.parts.engine.call("killing", self.processes.kill_all)
        return await self._restart()

    async def snapshot(self) -> Snapshot:
        """See `Sandbox.snapshot`."""
        self.check()
        async with self.freezing:
            return await self._freeze(self)

    async def stop(self) -> None:
        """See `Sandbox.stop`."""
        failed = self._stopping is not None and self._stopping.done() and not _went_well(self._stopping)
        if self._stopping is None or failed:  # an engine that was away may be back
            self._stopping = asyncio.ensure_future(self._on_stop(self))
            if self._watch is not None:
                self._watch.stop()
        await asyncio.shield(self._stopping)

    async def _call(self, what: str, function: Callable[..., T], *args: object, **kwargs: object) -> T:
        self.check()
        return await self.parts.engine.call(what, function, self.files, *args, **kwargs)

    async def kill_command(self, pid: int) -> None:
        """Kills a command, by its process on the engine's machine, with all that it started."""
        if self.processes is not None and pid:
            others = self.commands - {pid}
            await self.parts.engine.call("killing", self.processes.kill_command, pid, others)
        else:
            await self._restart()

    async def _restart(self) -> int:
        """Kills the whole container and starts it again: its processes are out of reach one by one."""
        engine, container = self.parts.engine, self.parts.container
        try:
            top = await engine.call("counting processes", engine.client.api.top, container)
            count = max(0, len(top.get("Processes") or ()) - 2)
        except SandboxLostError:
            raise
        except SandboxError:  # it has just ended by itself
            count = 0
        try:
            await engine.call("killing", engine.client.api.kill, container)
            await engine.call("killing", engine.client.api.wait, container)
        except SandboxError as error:
            if not _STOPPED.search(str(error)):
                raise
        await self.run_first_process()
        return count

    def check(self) -> None:
        """Refuses to go on with a sandbox that is no more.

        Raises:
            SandboxLostError: It has been stopped.
        """
        if self._stopping is not None:
            raise SandboxLostError(f"sandbox {self.id} has been stopped")


def _went_well(work: asyncio.Future[None]) -> bool:
    return not work.cancelled() and work.exception() is None


def _read(files: Archives, path: str, max_bytes: int) -> bytes | OSError:
    """The content, or the error that says what lies there: the engine's boundary takes an `OSError` for its own."""
    try:
        return archives.read_file(files, path, max_bytes)
    except (FileNotFoundError, IsADirectoryError) as error:
        return error
