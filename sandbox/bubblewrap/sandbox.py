"""One running sandbox."""

from __future__ import annotations

import asyncio
import marshal
import os
import posixpath
import select
import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.bubblewrap.client import readable
from sandbox.bubblewrap.command import Place, RunningCommand, closing
from sandbox.bubblewrap.interacting import interact
from sandbox.bubblewrap.janitor import measured
from sandbox.bubblewrap.roots import part
from sandbox.errors import SandboxLostError, TransferError
from sandbox.protocol import Change, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from sandbox.bubblewrap.backend import BubblewrapBackend
    from sandbox.bubblewrap.cgroup import Cgroup
    from sandbox.bubblewrap.client import Answer, Launcher
    from sandbox.bubblewrap.networking import Access, Networks
    from sandbox.bubblewrap.roots import Writable
    from sandbox.bubblewrap.snapshots import Stand
    from sandbox.bubblewrap.wire import Body
    from sandbox.capture import OutputPipe
    from sandbox.protocol import ExecResult, Image, Limits, Network, Stream

_MAX_UPLOAD = 8 << 30
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Parts:
    """What a sandbox is made of; all of it is released by `BubblewrapSandbox.stop`.

    Attributes:
        launcher: Does what must be done inside.
        stand: What it was started from.
        writable: What takes its writes.
        cgroup: Its control groups.
        init: Process descriptor of its first process.
        userns: Its user name space.
        stdin: Our end of the pipe whose closing ends it.
    """

    launcher: Launcher
    stand: Stand
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
        self._running: set[RunningCommand] = set()
        self._cutting = asyncio.Lock()
        self._leftovers: list[OutputPipe] = []
        self._rests: list[Answer] = []
        self._access: Access | None = None
        self._proxies: Mapping[str, str] = {}
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
        on_output: Callable[[Stream, bytes], None] | None = None,
    ) -> ExecResult:
        """See `Sandbox.exec`."""
        self._check()
        place = Place(self.parts.launcher, self._exec_fds(), self._body)
        variables = {**({} if clean_env else self._image.env), **self._proxies, **(env or {})}
        body = self._request(command, cwd, variables, user)
        running = RunningCommand(place, self._limits.output_bytes, stdin, on_output)
        async with self._cutting:  # a command that starts now would be killed for what another has done
            self._running.add(running)
        try:
            result = await closing(running, running.run(body, self._limits.timeout if timeout is None else timeout))
        finally:
            self._running.discard(running)
        self._body["harden"] = False
        self._drop_ended()
        if running.rest is not None:
            self._rests.append(running.rest)
        self._leftovers = [pipe for pipe in self._leftovers if not pipe.ended.done()] + running.leftovers()
        return result

    async def interact(
        self,
        command: str | Sequence[str],
        *,
        terminal_fd: int,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | int | None = None,
    ) -> int:
        """See `sandbox.shell.interactive.Interactive`."""
        self._check()
        place = Place(self.parts.launcher, self._exec_fds(), self._body)
        body = self._request(command, cwd, {**self._image.env, **self._proxies, **(env or {})}, user)
        return await interact(place, body, terminal_fd)

    async def connect(self, networks: Networks) -> None:
        """Makes its way out, if its network has one, before its first command; see `Networks.open` for errors."""
        self._access = await networks.open(self._network, self.parts.init)
        self._proxies = {} if self._access is None else self._access.env

    async def set_host_name(self, name: str) -> None:
        """See `sandbox.conditions.Renamable`."""
        await self._call("rename", name=name)

    def busy(self) -> bool:
        """Whether a command runs, or something lives on that one has started."""
        self._drop_ended()
        return self._stopping is None and bool(self._running or self._rests)

    async def written_bytes(self) -> int:
        """What it holds of the disk: all it has written, and deleted files that a process has still open."""
        fds = {"init": self.parts.init, "userns": self.parts.userns}
        return (await measured(self.parts.launcher, fds, [str(self.parts.writable.folder)]))[0]

    async def cut_off(self, reason: str) -> None:
        """Kills all its processes; results of commands say why."""
        async with self._cutting:
            for command in self._running:
                command.cut_off(reason)
            await self.kill_processes()

    async def upload(self, source: Path, target: str) -> None:
        """See `Sandbox.upload`."""
        await self._call("upload", source=str(source.resolve()), target=target, max_bytes=_MAX_UPLOAD)  # noqa: ASYNC240

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

    async def remove(self, path: str) -> None:
        """See `Sandbox.remove`."""
        try:
            await self._call("remove_inside", path=path)
        except OSError as error:
            raise TransferError(f"removing {path}: {error}") from error

    async def changed_files(self, under: Sequence[str] = ("/",)) -> tuple[Change, ...]:
        """See `Sandbox.changed_files`; the harness' own writes are among them."""
        self._check()
        root, stand = self.parts.stand.root, self.parts.stand
        frozen = () if stand.frozen is None else (stand.frozen,)
        mounts = []
        for mount, lowers in root.base:
            written = [self.parts.writable.upper(mount), *(layer / part(mount) for layer in frozen)]
            layers = [layer / part(mount) for layer in reversed(root.layers[: stand.image_layers])]
            mounts.append([mount, [str(folder) for folder in written], [str(f) for f in (*layers, *reversed(lowers))]])
        paths = [posixpath.normpath(f"/{path.lstrip('/')}") for path in under]
        memory = os.memfd_create("changes", os.MFD_CLOEXEC)
        try:
            fds = {"userns": self.parts.userns, "out": memory}
            await self.parts.launcher.call("changes", fds, mounts=mounts, under=paths)
            rows = marshal.loads(os.pread(memory, os.fstat(memory).st_size, 0))  # noqa: S302 - our own launcher's
        finally:
            os.close(memory)
        return tuple(Change(path, kind, link) for path, kind, link in rows)

    async def pack(self, paths: Sequence[str], target: Path, *, max_bytes: int = 1 << 30) -> None:
        """See `Sandbox.pack`."""
        folder = _open_parent(target)
        aside = f".{target.name}.part"
        try:
            out = os.open(aside, _NEW, 0o600, dir_fd=folder)
            try:
                await self._call("pack", {"out": out}, paths=list(paths), max_bytes=max_bytes)
            finally:
                os.close(out)
            os.rename(aside, target.name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as error:
            raise TransferError(f"packing to {target}: {error}") from error
        finally:
            with suppress(FileNotFoundError):
                os.unlink(aside, dir_fd=folder)
            os.close(folder)

    async def unpack(self, archive: Path) -> None:
        """See `Sandbox.unpack`."""
        try:
            opened = os.open(archive, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise TransferError(f"unpacking {archive}: {error.strerror}") from error
        try:
            await self._call("unpack_over", {"archive": opened})
        except OSError as error:
            raise TransferError(f"unpacking {archive}: {error}") from error
        finally:
            os.close(opened)

    async def kill_processes(self) -> int:
        """See `Sandbox.kill_processes`."""
        self._check()
        answer = await self.parts.launcher.ask("kill_all", {"init": self.parts.init})
        return int(str(answer["killed"]))

    async def snapshot(self) -> Snapshot:
        """See `Sandbox.snapshot`; what a process writes meanwhile may be in it or not."""
        self._check()
        reference = await self._freeze(self.written(), self.parts)
        return Snapshot(reference, self._image)

    def written(self) -> list[list[str]]:
        """For each mount point: its name in a layer, the folder that took the writes, the same of the snapshot's layer.

        The last is "" in a sandbox of an image: a layer frozen from these rows goes on top of the image's own.
        """
        frozen = self.parts.stand.frozen
        return [
            [part(mount), str(self.parts.writable.upper(mount)), str(frozen / part(mount)) if frozen else ""]
            for mount, _lowers in self.parts.stand.root.base
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
        for rest in self._rests:
            rest.close()
        if self._access is not None:
            await self._access.close()
        self._on_stop(self)
        os.close(parts.init)
        os.close(parts.userns)

    async def _call(self, op: str, fds: dict[str, int] | None = None, **body: object) -> None:
        self._check()
        await self.parts.launcher.call(op, {"init": self.parts.init, **(fds or {})}, **body)

    def _exec_fds(self) -> dict[str, int]:
        joins = {f"cgroup{number}": fd for number, fd in enumerate(self.parts.cgroup.joins)}
        return {"init": self.parts.init, **joins}

    def _request(
        self, command: str | Sequence[str], cwd: str | None, env: Mapping[str, str], user: str | int | None
    ) -> Body:
        return {
            "command": command if isinstance(command, str) else list(command),
            "cwd": cwd or self._image.workdir or "/",
            "env": env,
            "user": self._image.user if user is None else str(user),
        }

    def _drop_ended(self) -> None:
        """Stops listening to commands of which nothing is left."""
        for rest in [rest for rest in self._rests if rest.over()]:
            rest.close()
            self._rests.remove(rest)

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


def _open_parent(target: Path) -> int:
    """Opens the folder that `target` is to appear in, made when missing."""
    parent = target.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        return os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise TransferError(f"download to {target}: {error.strerror}") from error
