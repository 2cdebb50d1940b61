"""A sandbox of ours as a back end of deepagents: `create_deep_agent(backend=DeepAgentsSandbox(sandbox))`.

Both halves of deepagents' protocol work, from anywhere: a sandbox belongs to the event loop it was started in, so calls
from other threads and other loops are carried over to that one. `open_sandbox` owns a loop on a thread of its own, for
programs that have none.
"""

from __future__ import annotations

import asyncio
import posixpath
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from sandbox.backends import load_backend
from sandbox.errors import TransferError
from sandbox.protocol import NO_NETWORK, Image, Limits
from sandbox.task.limits import task_limits

try:
    from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse
    from deepagents.backends.sandbox import BaseSandbox
except ModuleNotFoundError as error:
    raise ImportError(
        f"sandbox.deepagents needs the package deepagents ({error}): pip install deepagents", name=error.name
    ) from error

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator, Mapping, Sequence

    from sandbox.protocol import Network, Sandbox, SandboxBackend
    from sandbox.task import Task

T = TypeVar("T")

MAX_FILE_BYTES = 256 << 20
"""The largest file that is handed over in memory."""


class DeepAgentsSandbox(BaseSandbox):
    """Commands, files and searches of one sandbox, through deepagents' protocol.

    Commands run as `user`; files go in and out from outside, as the sandbox's root, so permissions stop neither.

    Args:
        sandbox: A running one; whoever started it stops it.
        loop: The event loop it was started in; the running one when left out.
        user: Who commands run as; the image's user when left out.
        cwd: Where they run; the image's folder when left out.
        env: Variables on top of the image's.
    """

    enable_capture_offload = True

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        loop: asyncio.AbstractEventLoop | None = None,
        user: str | int | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.sandbox = sandbox
        self._loop = loop or asyncio.get_running_loop()
        self._user = user
        self._cwd = cwd
        self._env = dict(env or {})

    @property
    def id(self) -> str:
        """The sandbox's id."""
        return self.sandbox.id

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Runs a shell command; both output streams come as one, in the order they were written."""
        return self._wait(self._execute(command, timeout))

    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """As `execute`."""
        return await self._carry(self._execute(command, timeout))

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Writes files, parents included; each has its own answer."""
        return self._wait(self._upload(files))

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """As `upload_files`."""
        return await self._carry(self._upload(files))

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Reads files; each has its own answer."""
        return self._wait(self._download(paths))

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """As `download_files`."""
        return await self._carry(self._download(paths))

    async def _execute(self, command: str, timeout: int | None) -> ExecuteResponse:
        ran = await self.sandbox.exec(
            ["bash", "-c", f"exec 2>&1\n{command}"],
            cwd=self._cwd,
            env=self._env,
            user=self._user,
            timeout=None if not timeout else float(timeout),
        )
        output = ran.text + ran.error_text
        if ran.timed_out:
            limit = timeout or self.sandbox.limits.timeout
            output += f"\n[the command was stopped after {limit:g} s]"
        return ExecuteResponse(output=output, exit_code=ran.exit_code, truncated=ran.truncated)

    async def _upload(self, files: Sequence[tuple[str, bytes]]) -> list[FileUploadResponse]:
        return [FileUploadResponse(path, await self._write(path, content)) for path, content in files]

    async def _write(self, path: str, content: bytes) -> str | None:
        """Writes one file; why it could not, or `None`."""
        if not _is_path(path):
            return "invalid_path"
        try:
            await self.sandbox.write_file(posixpath.normpath(path), content)
        except TransferError as error:
            return str(error)
        return None

    async def _download(self, paths: Sequence[str]) -> list[FileDownloadResponse]:
        found = []
        for path in paths:
            content = await self._read(path) if _is_path(path) else "invalid_path"
            if isinstance(content, str):
                found.append(FileDownloadResponse(path, error=content))
            else:
                found.append(FileDownloadResponse(path, content))
        return found

    async def _read(self, path: str) -> bytes | str:
        """One file's content, or why there is none. A link is followed inside the sandbox, by a program of it."""
        try:
            return await self.sandbox.read_file(path, max_bytes=MAX_FILE_BYTES)
        except FileNotFoundError:
            return "file_not_found"
        except IsADirectoryError:
            return "is_directory"
        except TransferError as error:
            led = await self.sandbox.exec(["readlink", "-f", "--", path], user=self._user)
            to = led.text.removesuffix("\n")
            return await self._read(to) if led.ok and _is_path(to) and to != posixpath.normpath(path) else str(error)

    def _wait(self, work: Coroutine[None, None, T]) -> T:
        if _running_loop() is self._loop:
            work.close()
            raise RuntimeError(
                "a blocking method was called in the event loop the sandbox belongs to, which would wait for itself: "
                "call the method with an `a` before its name, or from another thread"
            )
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _carry(self, work: Coroutine[None, None, T]) -> T:
        if _running_loop() is self._loop:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))


@contextmanager
def open_sandbox(
    origin: Task | Image,
    backend: str = "bubblewrap",
    *,
    base: Sequence[str] = (),
    limits: Limits | None = None,
    network: Network = NO_NETWORK,
) -> Iterator[DeepAgentsSandbox]:
    """Starts a sandbox for a `with` block, in an event loop on a thread of its own.

    Args:
        origin: A task, whose limits and agent's working directory it gets, or an image of the back end.
        backend: A back end by name or `module:Class`.
        base: What `FROM` stands for; see `sandbox.backends.load_backend`.
        limits: What it may use.
        network: What it may reach.

    Raises:
        SandboxError: It could not be started; see `SandboxBackend.start`.
        ValueError: A rule of `base` is wrong.
    """
    made = load_backend(backend, base=base)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="sandbox loop", daemon=True)
    thread.start()

    def wait(work: Coroutine[None, None, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    try:
        try:
            started = wait(_started(made, origin, limits, network))
            yield DeepAgentsSandbox(started, loop=loop)
        finally:
            wait(made.close())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _started(backend: SandboxBackend, origin: Task | Image, limits: Limits | None, network: Network) -> Sandbox:
    if isinstance(origin, Image):
        return await backend.start(origin, limits=limits, network=network)
    asked = task_limits(origin, limits or Limits())
    return await backend.start(await backend.build(origin), limits=asked, network=network)


def _is_path(path: str) -> bool:
    return path.startswith("/") and "\0" not in path


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
