"""One running sandbox of the cloud."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from sandbox.e2b import archives, files, uploading
from sandbox.e2b.changes import changes
from sandbox.e2b.command import BusyError, FolderMissingError, Request, RunningCommand
from sandbox.e2b.entries import entry_at, listing
from sandbox.e2b.failures import attempted
from sandbox.e2b.users import user_name
from sandbox.e2b.wire import SYSTEM_PATH
from sandbox.errors import SandboxError, SandboxLostError, TransferError
from sandbox.protocol import ExecResult, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from sandbox.e2b.backend import E2BBackend
    from sandbox.e2b.entries import Entry
    from sandbox.e2b.keeping import Keeper
    from sandbox.e2b.processes import Processes
    from sandbox.e2b.wire import Wire
    from sandbox.protocol import Change, Image, Limits, Network, Stream

_CANNOT_RUN = 126
_LONGEST_WORD = (128 << 10) - 1
"""Bytes of one argument or variable that the kernel takes."""
_LONGEST_IN_ALL = 1 << 20
_ATTEMPTS = 6
_ANSWER_SECONDS = 10.0


class E2BSandbox:
    """A sandbox of the e2b back end; made by `E2BBackend.start`.

    Args:
        wire: Its service.
        processes: Its processes.
        keeper: Renews its time.
        image: What it was started from.
        limits: What it may use.
        network: What it may reach.
        backend: Who made it.
        template: The template or snapshot it was started from.
    """

    def __init__(
        self,
        wire: Wire,
        processes: Processes,
        keeper: Keeper,
        *,
        image: Image,
        limits: Limits,
        network: Network,
        backend: E2BBackend,
        template: str,
    ) -> None:
        self.template = template
        self.wire = wire
        self.processes = processes
        self._keeper = keeper
        self._image = image
        self._limits = limits
        self._network = network
        self._backend = backend
        self._stopping: asyncio.Task[None] | None = None
        self._id = wire.cloud.sandbox_id
        self._reviving = asyncio.Lock()

    @property
    def id(self) -> str:
        """See `Sandbox.id`; that of its first machine, if it has moved to another."""
        return self._id

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
    def backend(self) -> E2BBackend:
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
        argv = ["/bin/bash", "-c", command] if isinstance(command, str) else list(command)
        given = {**({} if clean_env else self._image.env), **(env or {})}
        variables = [f"{name}={value}" for name, value in {"PATH": SYSTEM_PATH, "LANG": "C.UTF-8", **given}.items()]
        refused = _refused(argv, variables)
        if refused:
            return ExecResult(b"", f"cannot run the command: {refused}\n".encode(), _CANNOT_RUN)
        name = await user_name(self.wire, self._image.user if user is None else str(user))
        folder = cwd or self._image.workdir or "/"
        request = Request(_after_variables(argv), folder, variables, name, stdin)
        seconds = self._limits.timeout if timeout is None else timeout
        try:
            return await self._run(request, seconds, on_output)
        except FolderMissingError:
            with suppress(TransferError):
                await files.make_folder(self.wire, folder, user=name)
        try:
            return await self._run(request, seconds, on_output)
        except FolderMissingError:
            return ExecResult(b"", f"cannot run the command: {folder}: no folder to run in\n".encode(), _CANNOT_RUN)

    async def _run(
        self, request: Request, seconds: float, on_output: Callable[[Stream, bytes], None] | None
    ) -> ExecResult:
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(BusyError),
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_random_exponential(multiplier=0.1, max=8),
            reraise=True,
        )

        async def once() -> ExecResult:
            wire, service = self.wire, self.processes.service
            command = RunningCommand(wire, self.processes, self._limits, on_output)
            try:
                return await command.run(request, seconds)
            except SandboxError:
                if command.began and await self._has_lost_service(wire, service):
                    return command.cut_off()
                raise

        return await retrying(once)

    async def _has_lost_service(self, wire: Wire, service: str) -> bool:
        """Whether a command has killed the service inside; if so, there is one again when this returns.

        The cloud may start it anew. Where nothing answers, as when the service is stopped and not killed, the sandbox's
        files move to another machine.

        Raises:
            SandboxLostError: There is no service, and no other machine to be had.
        """
        async with self._reviving:
            if self.wire is not wire or self.processes.service != service:
                return True
            try:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    return await self.processes.has_other_service()
            except SandboxLostError:
                return False
            except (SandboxError, TimeoutError):
                self._check()
            await self._move()
            return True

    async def _move(self) -> None:
        keeper, cloud, before = self._keeper, self.wire.cloud, self.template
        self.template, self.wire, self.processes, self._keeper = await self._backend.machine_with_files_of(self)
        await keeper.stop()
        with suppress(SandboxError):
            await attempted(f"killing sandbox {cloud.sandbox_id}", cloud.kill)
        self._backend.left(before)

    async def upload(self, source: Path, target: str) -> None:
        """See `Sandbox.upload`."""
        self._check()
        await uploading.upload(self.wire, source, target)

    async def download(self, source: str, target: Path, *, max_bytes: int = 1 << 30) -> None:
        """See `Sandbox.download`; folders and links by `tar` inside."""
        self._check()
        await archives.download(self.wire, source, target, max_bytes)

    async def read_file(self, path: str, *, max_bytes: int = 1 << 20) -> bytes:
        """See `Sandbox.read_file`."""
        self._check()
        return await files.read(self.wire, path, max_bytes)

    async def write_file(self, path: str, content: bytes, *, mode: int = 0o644) -> None:
        """See `Sandbox.write_file`; permissions other than 0644 by `chmod` inside, before there is any content."""
        self._check()
        await files.write(self.wire, path, content, mode)

    async def remake_directory(self, path: str, *, mode: int = 0o755) -> None:
        """See `Sandbox.remake_directory`; permissions other than 0755 by `chmod` inside."""
        self._check()
        path = files.checked(path)
        await files.erase(self.wire, path)
        await files.make_folder(self.wire, path, mode)

    async def remove(self, path: str) -> None:
        """See `Sandbox.remove`."""
        self._check()
        await files.erase(self.wire, files.checked(path))

    async def changed_files(self, under: Sequence[str] = ("/",)) -> tuple[Change, ...]:
        """See `Sandbox.changed_files`.

        Two listings of the service are compared: this sandbox's, and that of a fresh one of the same image. A file
        whose content was changed and whose size and time were put back is not seen; nor is a link made to say
        something else that leads to the same place.
        """
        self._check()
        roots = tuple(path if path == "/" else files.checked(path) for path in under)
        before = await self._backend.listings(self._image, roots)
        now: dict[str, Entry] = {}
        for root in roots:
            now |= await self.listed(root)
        return changes(before, now)

    async def listed(self, root: str) -> dict[str, Entry]:
        """What lies at a path and below it."""
        entry = None if root == "/" else await entry_at(self.wire, root)
        found = {} if entry is None else {root: entry}
        if root == "/" or (entry is not None and entry.kind == "folder"):
            found |= await listing(self.wire, root)
        return found

    async def pack(self, paths: Sequence[str], target: Path, *, max_bytes: int = 1 << 30) -> None:
        """See `Sandbox.pack`; by `tar` inside."""
        self._check()
        await archives.pack(self.wire, [files.checked(path) for path in paths], target, max_bytes)

    async def unpack(self, archive: Path) -> None:
        """See `Sandbox.unpack`; by `tar` inside."""
        self._check()
        await archives.unpack(self.wire, archive)

    async def kill_processes(self) -> int:
        """See `Sandbox.kill_processes`."""
        self._check()
        return await self.processes.kill_all()

    async def snapshot(self) -> Snapshot:
        """See `Sandbox.snapshot`; the sandbox stands still for a moment."""
        self._check()
        return Snapshot(await self._backend.freeze(self), self._image)

    async def stop(self) -> None:
        """See `Sandbox.stop`."""
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop())
        await asyncio.shield(self._stopping)

    async def _stop(self) -> None:
        await self._keeper.stop()
        try:
            with suppress(SandboxLostError):
                await attempted(f"killing sandbox {self.id}", self.wire.cloud.kill)
        finally:
            self._backend.forget(self)

    def _check(self) -> None:
        if self._stopping is not None:
            raise SandboxLostError(f"sandbox {self.id} has been stopped")
        if self._keeper.lost:
            raise SandboxLostError(f"sandbox {self.id}: {self._keeper.lost}")


def _refused(argv: Sequence[str], variables: Sequence[str]) -> str:
    """Why a command cannot be handed to the kernel, or ""."""
    if not argv:
        return "it is empty"
    try:
        words = [word.encode() for word in (*argv, *variables)]
    except UnicodeEncodeError:
        return "the E2B service takes text in UTF-8 only"
    if any(b"\0" in word for word in words):
        return "it holds a null byte"
    if any(len(word) > _LONGEST_WORD for word in words) or sum(map(len, words)) > _LONGEST_IN_ALL:
        return "argument list too long"
    return ""


def _after_variables(argv: list[str]) -> list[str]:
    """A command that can stand behind NAME=VALUE words without being taken for one."""
    return ["/bin/bash", "-c", 'exec "$@"', "bash", *argv] if "=" in argv[0] or argv[0].startswith("-") else argv
