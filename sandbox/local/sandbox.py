"""One local sandbox: a name, limits and the processes that carry its mark; the files are the machine's own."""

from __future__ import annotations

import asyncio
import os
import pwd
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.errors import SandboxLostError, TransferError, UnsupportedTaskError
from sandbox.local import archives, marks, trees
from sandbox.local.command import RunningCommand, Spec
from sandbox.local.groups import remove_group

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sandbox.capture import OutputPipe
    from sandbox.local.backend import LocalBackend
    from sandbox.local.groups import Groups
    from sandbox.protocol import Change, ExecResult, Image, Limits, Network, Snapshot, Stream

_MAX_UPLOAD = 8 << 30
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class LocalSandbox:
    """A sandbox of the local back end; made by `LocalBackend.start`.

    Args:
        name: Its id.
        image: What it was started from.
        limits: What it may use.
        network: What it may reach.
        groups: Its control groups.
        backend: Who made it.
        on_stop: Told when it has stopped.
    """

    def __init__(
        self,
        name: str,
        image: Image,
        limits: Limits,
        network: Network,
        groups: Groups,
        *,
        backend: LocalBackend,
        on_stop: Callable[[LocalSandbox], None],
    ) -> None:
        self.id = name
        self.image = image
        self.limits = limits
        self.network = network
        self.backend = backend
        self._groups = groups
        self._on_stop = on_stop
        self._commands = 0
        self._running: set[asyncio.Future[object]] = set()
        self._leftovers: list[OutputPipe] = []
        self._stopping: asyncio.Task[None] | None = None

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
        """See `Sandbox.exec`; besides what is promised there, a command sees two variables ENVOLVE_LOCAL_…."""
        self._check()
        _check_user(self.image.user if user is None else user)
        folder = _made(cwd or self.image.workdir or "/")
        self._commands += 1
        own = f"{self.id}.{self._commands}"
        groups, joins = self._groups.for_command(str(self._commands))
        spec = Spec(
            arguments=["bash", "-c", command] if isinstance(command, str) else list(command),
            env=self._variables(env or {}, own, clean=clean_env),
            cwd=folder,
            stdin=stdin,
            timeout=self.limits.timeout if timeout is None else timeout,
            output_bytes=self.limits.output_bytes,
            file_size_mb=self.limits.file_size_mb,
            open_files=self.limits.open_files,
            joins=joins,
            tell=on_output,
        )
        variable = f"{marks.COMMAND}={own}".encode()
        running = RunningCommand(spec, lambda pid: marks.Mark(variable, groups, pid))
        try:
            result = await running.run()
        except BaseException:
            running.close()
            raise
        finally:
            for group in groups:
                remove_group(group)
        self._leftovers = [pipe for pipe in self._leftovers if not pipe.ended.done()] + running.leftovers()
        if self._stopping is not None:
            running.close()
            raise SandboxLostError(f"sandbox {self.id} was stopped under the command")
        return result

    async def upload(self, source: Path, target: str) -> None:
        """See `Sandbox.upload`."""
        self._check()
        await _files(f"upload to {target}", trees.copy_in, source, Path(target), trees.Budget(_MAX_UPLOAD))

    async def download(self, source: str, target: Path, *, max_bytes: int = 1 << 30) -> None:
        """See `Sandbox.download`."""
        self._check()
        what = f"download of {source}"
        await _files(what, trees.copy, Path(source), target, trees.Budget(max_bytes), inwards=False)

    async def read_file(self, path: str, *, max_bytes: int = 1 << 20) -> bytes:
        """See `Sandbox.read_file`."""
        self._check()
        try:
            with trees.open_plain(Path(path)) as file:
                content = await asyncio.to_thread(file.read, max_bytes + 1)
        except (FileNotFoundError, IsADirectoryError):
            raise
        except OSError as error:
            raise TransferError(f"read of {path}: {error.strerror}") from error
        trees.Budget(max_bytes).take(len(content), Path(path))
        return content

    async def write_file(self, path: str, content: bytes, *, mode: int = 0o644) -> None:
        """See `Sandbox.write_file`."""
        self._check()
        await _files(f"write of {path}", trees.write, Path(path), content, mode)

    async def remake_directory(self, path: str, *, mode: int = 0o755) -> None:
        """See `Sandbox.remake_directory`."""
        self._check()
        await _files(f"remaking {path}", _remake, Path(path), mode)

    async def remove(self, path: str) -> None:
        """See `Sandbox.remove`."""
        self._check()
        await _files(f"removal of {path}", trees.remove, Path(path))

    async def changed_files(self, under: Sequence[str] = ("/",)) -> tuple[Change, ...]:
        """See `Sandbox.changed_files`: always refused, since nothing is known of how the machine was."""
        del under
        raise UnsupportedTaskError("the sandbox `local` cannot tell what changed: its files are the machine's own")

    async def pack(self, paths: Sequence[str], target: Path, *, max_bytes: int = 1 << 30) -> None:
        """See `Sandbox.pack`."""
        self._check()
        await _files("pack", archives.pack, paths, target, trees.Budget(max_bytes))

    async def unpack(self, archive: Path) -> None:
        """See `Sandbox.unpack`."""
        self._check()
        await _files("unpack", archives.unpack, archive)

    async def kill_processes(self) -> int:
        """See `Sandbox.kill_processes`."""
        self._check()
        return await self._kill()

    async def snapshot(self) -> Snapshot:
        """See `Sandbox.snapshot`: always refused."""
        raise UnsupportedTaskError("the sandbox `local` has no snapshots; bubblewrap and docker do (--sandbox docker)")

    async def stop(self) -> None:
        """See `Sandbox.stop`; files that commands wrote stay, for they lie on the machine itself."""
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop())
        await asyncio.shield(self._stopping)

    async def _stop(self) -> None:
        await self._kill()
        for pipe in self._leftovers:
            pipe.close()
        self._groups.remove()
        self._on_stop(self)

    async def _kill(self) -> int:
        mark = marks.Mark(f"{marks.SANDBOX}={self.id}".encode(), self._groups.folders)
        return await asyncio.to_thread(marks.kill, mark)

    def _variables(self, given: Mapping[str, str], command: str, *, clean: bool) -> dict[str, str]:
        own = {marks.SANDBOX: self.id, marks.COMMAND: command}
        basic = {"PATH": os.environ.get("PATH", _DEFAULT_PATH), "HOME": _home(), "LANG": "C.UTF-8"}
        return {**basic, **({} if clean else self.image.env), **given, **own}

    def _check(self) -> None:
        if self._stopping is not None:
            raise SandboxLostError(f"sandbox {self.id} has been stopped")


async def _files(what: str, work: Callable[..., None], *arguments: object, **keywords: object) -> None:
    """Does work on files in a thread; what the disk refuses is a `TransferError`."""
    try:
        await asyncio.to_thread(work, *arguments, **keywords)
    except OSError as error:
        raise TransferError(f"{what}: {error.strerror or error}") from error


def _remake(path: Path, mode: int) -> None:
    trees.remove(path)
    path.mkdir(parents=True)
    path.chmod(mode)


def _made(folder: str) -> str:
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TransferError(f"working directory {folder}: {error.strerror}") from error
    return folder


def _home() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return "/"


def _check_user(user: str | int) -> None:
    """Makes sure that a user is the one this process runs as.

    Raises:
        UnsupportedTaskError: It is another.
    """
    me = os.geteuid()
    try:
        names = {"", str(me), pwd.getpwuid(me).pw_name}
    except KeyError:
        names = {"", str(me)}
    if str(user) not in names:
        raise UnsupportedTaskError(
            f"the sandbox `local` runs commands as {max(names)} only, not as {user!r} (--sandbox docker can)"
        )
