"""One running sandbox."""

from __future__ import annotations

import asyncio
import os
import select
import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.bubblewrap.client import readable
from sandbox.bubblewrap.command import Place, RunningCommand, closing
from sandbox.bubblewrap.roots import part
from sandbox.errors import SandboxLostError, TransferError
from sandbox.protocol import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from sandbox.bubblewrap.backend import BubblewrapBackend
    from sandbox.bubblewrap.capture import OutputPipe
    from sandbox.bubblewrap.cgroup import Cgroup
    from sandbox.bubblewrap.client import Launcher
    from sandbox.bubblewrap.roots import Root, Writable
    from sandbox.bubblewrap.wire import Body
    from sandbox.protocol import ExecResult, Image, Limits, Network

_MAX_UPLOAD = 8 << 30


@dataclass(frozen=True, slots=True)
class Parts:
    """What a sandbox is made of; all of it is released by `BubblewrapSandbox.stop`.

    Attributes:
        launcher: Does what must be done inside.
        root: What it was stacked from.
        writable: What takes its writes.
        cgroup: Its control groups.
        init: Process descriptor of its first process.
        userns: Its user name space.
        stdin: Our end of the pipe whose closing ends it.
    """

    launcher: Launcher
    root: Root
    writable: Writable
    cgroup: Cgroup
    init: int
    userns: int
    stdin: int


class BubblewrapSandbox:
    """A sandbox of the bubblewrap back end; made by `BubblewrapBackend.start`.

    Args:
        name: Its id.
        image: What it was started from.
        limits: What it may use.
        network: What it may reach.
        parts: What it is made of.
        backend: Who made it.
        body: Fields of every command's request: limits of a process, whether there are several users.
        on_stop: Told when it has stopped.
        freeze: Writes a snapshot of it.
    """

    def __init__(
        self,
        name: str,
        image: Image,
        limits: Limits,
        network: Network,
        parts: Parts,
        *,
        backend: BubblewrapBackend,
        body: Body,
        on_stop: Callable[[BubblewrapSandbox], None],
        freeze: Callable[[list[list[str]], Parts], asyncio.Future[str]],
    ) -> None:
        self._name = name
        self._image = image
        self._limits = limits
        self._network = network
        self._backend = backend
        self.parts = parts
        self._body = body
        self._on_stop = on_stop
        self._freeze = freeze
        self._leftovers: list[OutputPipe] = []
        self._stopping: asyncio.Task[None] | None = None

    @property
    def id(self) -> str:
        """See `Sandbox.id`."""
        return self._name

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
    def backend(self) -> BubblewrapBackend:
        """See `Sandbox.backend`."""
        return self._backend

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
    ) -> ExecResult:
        """See `Sandbox.exec`."""
        self._check()
        place = Place(self.parts.launcher, self._exec_fds(), self._body)
        body: Body = {
            "command": command if isinstance(command, str) else list(command),
            "cwd": cwd or self._image.workdir or "/",
            "env": {**({} if clean_env else self._image.env), **(env or {})},
            "user": self._image.user if user is None else str(user),
        }
        running = RunningCommand(place, self._limits.output_bytes, stdin)
        result = await closing(running, running.run(body, self._limits.timeout if timeout is None else timeout))
        self._body["harden"] = False
        self._leftovers = [pipe for pipe in self._leftovers if not pipe.ended.done()] + running.leftovers()
        return result

    async def upload(self, source: Path, target: str) -> None:
        """See `Sandbox.upload`."""
        await self._call("upload", source=_resolved(source), target=target, max_bytes=_MAX_UPLOAD)

    async def download(self, source: str, target: Path, *, max_bytes: int = 1 << 30) -> None:
        """See `Sandbox.download`."""
        folder = _open_parent(target)
        try:
            await self._call("download", {"folder": folder}, source=source, name=target.name, max_bytes=max_bytes)
        except (FileNotFoundError, IsADirectoryError) as error:
            raise TransferError(f"download of {source}: {error}") from error
        finally:
            os.close(folder)

    async def read_file(self, path: str, *, max_bytes: int = 1 << 20) -> bytes:
        """See `Sandbox.read_file`."""
        memory = os.memfd_create("content", os.MFD_CLOEXEC)
        try:
            await self._call("read", {"out": memory}, path=path, max_bytes=max_bytes)
            return os.pread(memory, os.fstat(memory).st_size, 0)
        finally:
            os.close(memory)

    async def write_file(self, path: str, content: bytes, *, mode: int = 0o644) -> None:
        """See `Sandbox.write_file`."""
        memory = os.memfd_create("content", os.MFD_CLOEXEC)
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(memory, view) :]
            os.lseek(memory, 0, os.SEEK_SET)
            await self._call("write", {"content": memory}, path=path, mode=mode)
        except OSError as error:
            raise TransferError(f"write of {path}: {error}") from error
        finally:
            os.close(memory)

    async def remake_directory(self, path: str, *, mode: int = 0o755) -> None:
        """See `Sandbox.remake_directory`."""
        try:
            await self._call("remake", path=path, mode=mode)
        except OSError as error:
            raise TransferError(f"remaking {path}: {error}") from error

    async def kill_processes(self) -> None:
        """See `Sandbox.kill_processes`."""
        await self._call("kill_all")

    async def snapshot(self) -> Snapshot:
        """See `Sandbox.snapshot`; what a process writes meanwhile may be in it or not."""
        self._check()
        reference = await self._freeze(self.written(), self.parts)
        return Snapshot(reference, self._image)

    def written(self) -> list[list[str]]:
        """For each mount point: its name in a layer, the folder that took the writes, the same of the last layer."""
        last = self.parts.root.layers[-1] if self.parts.root.layers else None
        return [
            [part(mount), str(self.parts.writable.upper(mount)), str(last / part(mount)) if last else ""]
            for mount, _lowers in self.parts.root.base
        ]

    async def stop(self) -> None:
        """See `Sandbox.stop`."""
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop())
        await asyncio.shield(self._stopping)

    async def _stop(self) -> None:
        parts = self.parts
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(parts.init, signal.SIGKILL)
        os.close(parts.stdin)
        await readable(parts.init)  # a first process is dead only when all others of its name space are
        for pipe in self._leftovers:
            pipe.close()
        self._on_stop(self)
        os.close(parts.init)
        os.close(parts.userns)

    async def _call(self, op: str, fds: dict[str, int] | None = None, **body: object) -> None:
        self._check()
        await self.parts.launcher.call(op, {"init": self.parts.init, **(fds or {})}, **body)

    def _exec_fds(self) -> dict[str, int]:
        joins = {f"cgroup{number}": fd for number, fd in enumerate(self.parts.cgroup.joins)}
        return {"init": self.parts.init, **joins}

    def _alive(self) -> bool:
        if self._stopping is not None:
            return False
        poller = select.poll()
        poller.register(self.parts.init, select.POLLIN)
        return not poller.poll(0)

    def _check(self) -> None:
        if self._stopping is not None:
            raise SandboxLostError(f"sandbox {self._name} has been stopped")
        if not self._alive():
            raise SandboxLostError(f"sandbox {self._name} is gone: its first process was killed from outside")


def _resolved(source: Path) -> str:
    return str(source.resolve())


def _open_parent(target: Path) -> int:
    """Opens the folder that `target` is to appear in, made when missing."""
    parent = target.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        return os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise TransferError(f"download to {target}: {error.strerror}") from error
