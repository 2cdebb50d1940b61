"""A running sandbox of ours as Harbor sees it: commands and files of a `BaseEnvironment`."""

from __future__ import annotations

import asyncio
import codecs
import shutil
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities

from sandbox.errors import TransferError
from sandbox.trial.fetched import move_fetched

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from sandbox.protocol import Sandbox, Stream

NO_TIMEOUT = 7 * 24 * 3600.0
"""Seconds of a command that Harbor gives no time-out: it would let it run for ever."""
TIMED_OUT = 124
_MAX_BYTES = 8 << 30


class SandboxView(BaseEnvironment):  # type: ignore[misc] # Harbor is not installed where this is checked
    """Commands and files of one sandbox; started and stopped by somebody else.

    Set `sandbox` before anything is asked of it.
    """

    sandbox: Sandbox | None = None

    @staticmethod
    def type() -> str:
        """See `BaseEnvironment.type`."""
        return "envolve"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """See `BaseEnvironment.capabilities`."""
        return EnvironmentCapabilities(disable_internet=True)

    def _validate_definition(self) -> None:
        """A running sandbox needs no definition."""

    async def start(self, force_build: bool) -> None:
        """Nothing to do: it runs."""

    async def stop(self, delete: bool) -> None:
        """Nothing to do: whoever started the sandbox stops it."""

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """See `BaseEnvironment.exec`. A command that outlasts its time ends with 124, as that of `timeout` does."""
        callback = self._output_callback()
        async with _telling(callback) as tell:
            ran = await self.running.exec(
                command,
                cwd=cwd or self.task_env_config.workdir,
                env=self._merge_env(env),
                user=self._resolve_user(user),
                timeout=NO_TIMEOUT if timeout_sec is None else float(timeout_sec),
                on_output=tell,
            )
        stderr = ran.error_text
        if ran.timed_out:
            stderr += f"\n[stopped after {timeout_sec} seconds]"
        return ExecResult(stdout=ran.text, stderr=stderr, return_code=TIMED_OUT if ran.timed_out else ran.exit_code)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """See `BaseEnvironment.upload_file`."""
        await self.running.upload(Path(source_path), str(target_path))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """See `BaseEnvironment.upload_dir`: what is there stays, files of the same name are replaced."""
        await self.running.upload(Path(source_dir), str(target_dir))

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """See `BaseEnvironment.download_file`.

        Raises:
            TransferError: Nothing there, or no plain file: a link would be followed on this machine.
        """
        with tempfile.TemporaryDirectory(prefix="envolve-download-") as folder:
            got = Path(folder) / "file"
            await self.running.download(str(source_path), got, max_bytes=_MAX_BYTES)
            if got.is_symlink() or not got.is_file():
                raise TransferError(f"download of {source_path}: no plain file")
            await asyncio.to_thread(_copy, got, Path(target_path))

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """See `BaseEnvironment.download_dir`; links that lead out of the folder are dropped, and the log says so.

        Raises:
            TransferError: Nothing there, or no folder.
        """
        target = await asyncio.to_thread(_made, Path(target_dir))
        with tempfile.TemporaryDirectory(prefix=".download-", dir=target.parent) as folder:
            got = Path(folder) / "folder"
            await self.running.download(str(source_dir), got, max_bytes=_MAX_BYTES)
            if got.is_symlink() or not got.is_dir():
                raise TransferError(f"download of {source_dir}: no folder")
            dropped = await asyncio.to_thread(move_fetched, got, target, links=True)
        if dropped:
            self.logger.warning("left in the sandbox: links out of %s, or no plain files: %s", source_dir, dropped)

    async def is_dir(self, path: str, user: str | int | None = None) -> bool:  # noqa: ARG002 - Harbor's signature
        """See `BaseEnvironment.is_dir`; asked from outside, without a command."""
        try:
            await self.running.read_file(str(path), max_bytes=0)
        except IsADirectoryError:
            return True
        except (FileNotFoundError, TransferError):
            return bool(await super().is_dir(path, user="root"))
        return False

    @property
    def running(self) -> Sandbox:
        """The sandbox.

        Raises:
            RuntimeError: It has not been started, or was stopped.
        """
        if self.sandbox is None:
            raise RuntimeError(f"the environment {self.session_id} is not running: start it first")
        return self.sandbox


@asynccontextmanager
async def _telling(callback: Callable[..., object] | None) -> AsyncIterator[Callable[[Stream, bytes], None] | None]:
    """A plain function for pieces of output that feeds Harbor's asynchronous callback in order; `None` without one."""
    if callback is None:
        yield None
        return
    queue: asyncio.Queue[tuple[Stream, bytes] | None] = asyncio.Queue()
    decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}

    async def pump() -> None:
        while (piece := await queue.get()) is not None:
            text = decoders[piece[0]].decode(piece[1])
            if text:
                await callback(text, piece[0])  # type: ignore[misc] # asynchronous, as Harbor says

    pumping = asyncio.create_task(pump())
    try:
        yield lambda stream, data: queue.put_nowait((stream, data))
    finally:
        queue.put_nowait(None)
        await pumping


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _copy(source: Path, target: Path) -> None:
    """Puts a file in place of another, never through a link; the two may lie on different disks."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_symlink():
        target.unlink()
    shutil.copyfile(source, target)
