"""One sandbox of Harbor's: `Sandbox` over a `BaseEnvironment`, by commands in it and its own uploads and downloads."""

from __future__ import annotations

import asyncio
import itertools
import math
import posixpath
import shlex
import stat
import tarfile
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sandbox.errors import SandboxError, SandboxLostError, TransferError, UnsupportedTaskError
from sandbox.harbor import scripts
from sandbox.protocol import ExecResult
from sandbox.trial.acting import ending, said
from sandbox.trial.fetched import move_fetched

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from harbor.environments.base import BaseEnvironment
    from harbor.environments.base import ExecResult as HarborResult

    from sandbox.harbor.backend import HarborBackend
    from sandbox.protocol import Change, Image, Limits, Network, Snapshot, Stream

T = TypeVar("T")

_KILLED = 128 + 9
_SLACK_SECONDS = 30
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


async def reached(work: Coroutine[object, object, T], what: str, *, timeout: float | None = None) -> T:
    """Awaits something of Harbor's, whose errors may be of any class.

    Raises:
        SandboxError: It failed or took too long; the error itself is its cause.
    """
    kept: list[T] = []

    async def keep() -> None:
        kept.append(await work)

    ended = await ending(keep(), timeout)
    if ended.error is not None:
        raise SandboxError(f"{what}: {said(ended.error)}") from ended.error
    if ended.timed_out:
        raise SandboxError(f"{what}: not done after {timeout:g} s")
    return kept[0]


class HarborSandbox:
    """A started environment of Harbor's as a sandbox; made by `HarborBackend.start`.

    Args:
        environment: It.
        image: What it was started from.
        limits: What it may use.
        network: What it may reach.
        backend: Who made it.
        on_stop: Told when it has stopped.
    """

    def __init__(
        self,
        environment: BaseEnvironment,
        image: Image,
        limits: Limits,
        network: Network,
        *,
        backend: HarborBackend,
        on_stop: Callable[[HarborSandbox], None],
    ) -> None:
        self._environment = environment
        self._image = image
        self._limits = limits
        self._network = network
        self._backend = backend
        self._on_stop = on_stop
        self._spared = ""
        self._numbers = itertools.count(1)
        self._stopping: asyncio.Task[None] | None = None

    @property
    def id(self) -> str:
        """See `Sandbox.id`."""
        return str(self._environment.session_id)

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
    def backend(self) -> HarborBackend:
        """See `Sandbox.backend`."""
        return self._backend

    async def look_around(self) -> None:
        """Notes which processes are the environment's own; they are spared by `kill_processes`."""
        self._spared = (await self._script(scripts.LIST)).strip()

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
        """See `Sandbox.exec`; output comes as text and in one piece at the end."""
        self._check()
        mark = f"envolve-{next(self._numbers)}"
        feed = f"/tmp/.{mark}.stdin"  # noqa: S108 - in the sandbox
        if stdin is not None:
            await self.write_file(feed, stdin, mode=0o644)
        given = {"PATH": _PATH, "LANG": "C.UTF-8", **(env or {})} if clean_env else dict(env or {})
        line = scripts.command(
            command,
            cwd=cwd or self._image.workdir or "/",
            env={**given, "ENVOLVE_MARK": mark},
            clean=clean_env,
            stdin=feed if stdin is not None else "/dev/null",
        )
        seconds = self._limits.timeout if timeout is None else timeout
        who = self._image.user or None if user is None else user
        result = await self._run(line, mark, seconds, who)
        for stream, data in (("stdout", result.stdout), ("stderr", result.stderr)):
            if on_output is not None and data:
                on_output(stream, data)  # type: ignore[arg-type] # one of the two words
        return result

    async def upload(self, source: Path, target: str) -> None:
        """See `Sandbox.upload`."""
        self._check()
        what = f"upload to {target}"
        mode = _mode(source)
        if stat.S_ISDIR(mode):
            await self._script(scripts.FOLDER, target)
            await self._transfer(self._environment.upload_dir(source_dir=source, target_dir=target), what)
            return
        await self._script(scripts.PLACE, target)
        await self._transfer(self._environment.upload_file(source_path=source, target_path=target), what)
        await self._script(scripts.MODE, "755" if mode & 0o100 else "644", target)

    async def download(self, source: str, target: Path, *, max_bytes: int = 1 << 30) -> None:
        """See `Sandbox.download`; links that lead out of a folder are left out."""
        kind, size = await self._kind(source)
        if kind not in {"folder", "file", "link"}:
            raise TransferError(f"download of {source}: nothing there, or neither a plain file nor a folder")
        if size > max_bytes:
            raise TransferError(f"download of {source}: {size} bytes, and {max_bytes} are allowed")
        if kind == "link":
            _write_link(target, (await self._script(scripts.READLINK, source)).removesuffix("\n"))
            return
        _make_room(target)
        if kind == "file":
            got = self._environment.download_file(source_path=source, target_path=target)
            await self._transfer(got, f"download of {source}")
            return
        with tempfile.TemporaryDirectory(prefix=".download-", dir=target.parent) as folder:
            aside = Path(folder) / "folder"
            got = self._environment.download_dir(source_dir=source, target_dir=aside)
            await self._transfer(got, f"download of {source}")
            move_fetched(aside, target, links=True)

    async def read_file(self, path: str, *, max_bytes: int = 1 << 20) -> bytes:
        """See `Sandbox.read_file`."""
        kind, size = await self._kind(path)
        if kind == "none":
            raise FileNotFoundError(2, "no such file in the sandbox", path)
        if kind == "folder":
            raise IsADirectoryError(21, "a folder", path)
        if kind != "file" or size > max_bytes:
            raise TransferError(f"reading {path}: a link, no plain file, or larger than {max_bytes} bytes")
        with tempfile.TemporaryDirectory(prefix="envolve-read-") as folder:
            await self.download(path, Path(folder) / "file", max_bytes=max_bytes)
            return (Path(folder) / "file").read_bytes()

    async def write_file(self, path: str, content: bytes, *, mode: int = 0o644) -> None:
        """See `Sandbox.write_file`."""
        with tempfile.TemporaryDirectory(prefix="envolve-write-") as folder:
            (Path(folder) / "file").write_bytes(content)
            await self.upload(Path(folder) / "file", path)
        await self._script(scripts.MODE, f"{mode:o}", path)

    async def remake_directory(self, path: str, *, mode: int = 0o755) -> None:
        """See `Sandbox.remake_directory`."""
        await self._script(scripts.REMAKE, path, f"{mode:o}")

    async def remove(self, path: str) -> None:
        """See `Sandbox.remove`."""
        await self._script(scripts.REMOVE, path)

    async def changed_files(self, under: Sequence[str] = ("/",)) -> tuple[Change, ...]:
        """See `Sandbox.changed_files`: Harbor's environments cannot tell."""
        raise UnsupportedTaskError(f"what changed below {', '.join(under)}: Harbor's environments cannot tell")

    async def pack(self, paths: Sequence[str], target: Path, *, max_bytes: int = 1 << 30) -> None:
        """See `Sandbox.pack`; by the sandbox's own `tar`."""
        archive = f"/tmp/.envolve-pack-{next(self._numbers)}.tar"  # noqa: S108 - in the sandbox
        try:
            await self._script(scripts.PACK, archive, *(posixpath.normpath(path) for path in paths))
            with tempfile.TemporaryDirectory(prefix="envolve-pack-") as folder:
                await self.download(archive, Path(folder) / "all.tar", max_bytes=max_bytes)
                await asyncio.to_thread(_without_devices, Path(folder) / "all.tar", target)
        finally:
            await self.remove(archive)

    async def unpack(self, archive: Path) -> None:
        """See `Sandbox.unpack`; by the sandbox's own `tar`."""
        await asyncio.to_thread(_check_archive, archive)
        inside = f"/tmp/.envolve-unpack-{next(self._numbers)}.tar"  # noqa: S108 - in the sandbox
        try:
            await self.upload(archive, inside)
            await self._script(scripts.UNPACK, inside)
        finally:
            await self.remove(inside)

    async def kill_processes(self) -> int:
        """See `Sandbox.kill_processes`."""
        return int((await self._script(scripts.KILL, self._spared)).strip() or 0)

    async def snapshot(self) -> Snapshot:
        """See `Sandbox.snapshot`: Harbor's environments have none."""
        raise UnsupportedTaskError("Harbor's environments have no snapshots")

    async def stop(self) -> None:
        """See `Sandbox.stop`."""
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop())
        await asyncio.shield(self._stopping)

    async def _stop(self) -> None:
        try:
            await reached(self._environment.stop(delete=True), "stopping")
        finally:
            self._on_stop(self)

    async def _run(self, line: str, mark: str, seconds: float, user: str | int | None) -> ExecResult:
        began = time.monotonic()
        told: list[HarborResult] = []

        async def run() -> None:
            # The environment's own time-out comes later than ours: what it does then differs from one to the next.
            later = math.ceil(seconds) + _SLACK_SECONDS
            told.append(await self._environment.exec(command=line, user=user, timeout_sec=later))

        try:
            ended = await ending(run(), seconds)
        except asyncio.CancelledError:
            await asyncio.shield(self._script(scripts.KILL_MARKED, mark))
            raise
        spent = time.monotonic() - began
        if ended.timed_out:
            await self._script(scripts.KILL_MARKED, mark)
            return ExecResult(b"", b"", _KILLED, timed_out=True, seconds=spent)
        if ended.error is not None:
            raise SandboxError(f"running a command: {said(ended.error)}") from ended.error
        out, cut_out = _capped(told[0].stdout, self._limits.output_bytes)
        err, cut_err = _capped(told[0].stderr, self._limits.output_bytes)
        return ExecResult(out, err, told[0].return_code, truncated=cut_out or cut_err, seconds=spent)

    async def _script(self, script: str, *words: str) -> str:
        """Runs one of our own scripts as root.

        Raises:
            TransferError: It failed; says what it said.
        """
        self._check()
        line = shlex.join(["sh", "-c", script, "envolve", *words])
        told = await reached(self._environment.exec(command=line, cwd="/", user="root"), "a script of the back end")
        if told.return_code != 0:
            raise TransferError(f"{words[0] if words else 'the sandbox'}: {(told.stderr or told.stdout or '').strip()}")
        return told.stdout or ""

    async def _kind(self, path: str) -> tuple[str, int]:
        """What is at a path (`none`, `link`, `folder`, `file`, `other`) and how many bytes it has in all."""
        kind, _, size = (await self._script(scripts.KIND, path)).strip().partition(" ")
        return kind, int(size or 0)

    async def _transfer(self, work: Coroutine[object, object, object], what: str) -> None:
        try:
            await reached(work, what)
        except SandboxError as error:
            raise TransferError(str(error)) from error

    def _check(self) -> None:
        if self._stopping is not None:
            raise SandboxLostError(f"sandbox {self.id} has been stopped")


def _mode(source: Path) -> int:
    try:
        mode = source.stat().st_mode
    except OSError as error:
        raise TransferError(f"upload of {source}: {error.strerror}") from error
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise TransferError(f"upload of {source}: neither a plain file nor a folder")
    return mode


def _make_room(target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_symlink():
        target.unlink()


def _write_link(target: Path, to: str) -> None:
    _make_room(target)
    target.unlink(missing_ok=True)
    target.symlink_to(to)


def _capped(text: str | None, limit: int) -> tuple[bytes, bool]:
    """Output as bytes, head and tail of it where it is longer than allowed."""
    data = (text or "").encode("utf-8", "surrogateescape")
    if len(data) <= limit:
        return data, False
    head, tail = data[: (limit + 1) // 2], data[len(data) - limit // 2 :]
    return head + f"\n[... {len(data) - limit} bytes cut here ...]\n".encode() + tail, True


def _without_devices(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(source) as read, tarfile.open(target, "w") as write:
        for entry in read:
            entry.name = entry.name.lstrip("/")
            if not entry.isdev() or entry.isfifo():
                write.addfile(entry, read.extractfile(entry) if entry.isreg() else None)


def _check_archive(archive: Path) -> None:
    try:
        with tarfile.open(archive) as read:
            leaving = [entry.name for entry in read if ".." in entry.name.split("/")]
    except (OSError, tarfile.TarError) as error:
        raise TransferError(f"unpacking {archive}: {error}") from error
    if leaving:
        raise TransferError(f"unpacking {archive}: the entry {leaving[0]!r} leaves the root")
