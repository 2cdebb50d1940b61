"""The start of one sandbox: from a `bwrap` command line to its first process."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from typing import TYPE_CHECKING

from sandbox.bubblewrap import storage
from sandbox.bubblewrap.arguments import GATE_FD, INFO_FD, USERNS_FD
from sandbox.bubblewrap.client import readable, writable
from sandbox.errors import SandboxError, SandboxLostError

if TYPE_CHECKING:
    from sandbox.bubblewrap.client import Answer, Launcher

_MAX_TEXT = 1 << 16
_NUMBERS = {"stdin": 0, "stdout": 1, "stderr": 2, "info": INFO_FD, "userns": USERNS_FD, "gate": GATE_FD}


class Starting:
    """A sandbox that is starting.

    Args:
        launcher: Starts `bwrap`.
        userns: The user name space it is to use.
        patience: Seconds it may take.
    """

    def __init__(self, launcher: Launcher, userns: int, *, patience: float) -> None:
        self._launcher = launcher
        self._patience = patience
        self._theirs: dict[str, int] = {}
        self._ours: dict[str, int] = {}
        for name, writes in (("stdin", False), ("stdout", True), ("stderr", True), ("info", True), ("gate", False)):
            reading, writing = os.pipe2(os.O_CLOEXEC)
            self._theirs[name], self._ours[name] = (writing, reading) if writes else (reading, writing)
        os.set_blocking(self._ours["stderr"], False)
        os.set_blocking(self._ours["info"], False)
        # The gate holds one page and one byte: it can be written to again as soon as that byte has been read.
        fcntl.fcntl(self._ours["gate"], fcntl.F_SETPIPE_SZ, 1)
        os.write(self._ours["gate"], b"1")
        self._userns = userns
        self._answer: Answer | None = None

    async def spawn(self, arguments: list[str]) -> None:
        """Starts `bwrap`."""
        fds = {**self._theirs, "userns": self._userns}
        self._answer = await self._launcher.post("spawn", fds, arguments=arguments, numbers=_NUMBERS)
        self._close(self._theirs)

    async def first_process(self, *, known: bool) -> tuple[int, int]:
        """Waits until the sandbox can be joined.

        `bwrap` reads the gate when everything is mounted and all rights are dropped, just before it becomes the first
        process. With a root that has been started before, this is the moment; with a new one, the first process must
        give a sign of life, for that root may have no shell.

        Args:
            known: Whether a sandbox of this root has been started before.

        Returns:
            A process descriptor of the first process, and our end of its standard input.

        Raises:
            SandboxError: It did not start; says what `bwrap` said.
        """
        assert self._answer is not None  # noqa: S101 - `spawn` came before
        try:
            async with asyncio.timeout(self._patience):
                await (writable(self._ours["gate"]) if known else readable(self._ours["stdout"]))
        except TimeoutError as error:
            raise SandboxError(f"a sandbox did not start within {self._patience:g} s (start_timeout)") from error
        told = await self._answer.next()
        if told is None or "pid" not in told or (not known and not os.read(self._ours["stdout"], 16)):
            raise SandboxError(f"bwrap failed: {self._complaint()}")
        init = self._open_first(int(str(told["pid"])))
        stdin = self._ours.pop("stdin")
        self._close_all()
        return init, stdin

    async def give_up(self) -> None:
        """Closes everything that is still open, and waits for the end of a sandbox that is starting.

        The first process ends as soon as it finds its standard input closed. What else `bwrap` writes to stays open up
        to then: killed by a closed pipe half-way, it would leave a child that waits for it for ever.
        """
        self._close(self._theirs)
        for name in ("stdin", "gate"):
            self._close({name: self._ours.pop(name)} if name in self._ours else {})
        try:
            async with asyncio.timeout(self._patience):
                while "stderr" in self._ours and not self._ended():
                    await readable(self._ours["stderr"])
        except TimeoutError:  # it hangs in the kernel
            pass
        finally:
            self._close_all()

    def _ended(self) -> bool:
        """Whether no process holds our pipes any more; what was said is thrown away."""
        try:
            while os.read(self._ours["stderr"], _MAX_TEXT):
                pass
        except BlockingIOError:
            return False
        return True

    def _close_all(self) -> None:
        if self._answer is not None:
            self._answer.close()
        self._close(self._theirs)
        self._close(self._ours)

    def _open_first(self, bwrap: int) -> int:
        """Opens the first process, and makes sure that it is the one: its number could have gone to another by now."""
        try:
            pid = int(json.loads(os.read(self._ours["info"], _MAX_TEXT))["child-pid"])
            init = os.pidfd_open(pid)
        except (BlockingIOError, ValueError, ProcessLookupError) as error:
            raise SandboxLostError(f"a sandbox died at its start: {self._complaint()}") from error
        if storage.parent_of(pid) != bwrap:
            os.close(init)
            raise SandboxLostError(f"a sandbox died at its start: {self._complaint()}")
        return init

    def _complaint(self) -> str:
        try:
            text = os.read(self._ours["stderr"], _MAX_TEXT).decode("utf-8", "replace").strip()
        except BlockingIOError:
            text = ""
        return text or "without a word"

    @staticmethod
    def _close(fds: dict[str, int]) -> None:
        for fd in fds.values():
            os.close(fd)
        fds.clear()
