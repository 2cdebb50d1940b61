"""Runs one command in a sandbox from this side of the wire: output, input, time-out, end.

A command may kill the process in front of it. The service then tells the end at once or, in some versions, only when
nothing holds the pipes any more; the time-out holds in both cases, and everything that came of commands is killed.
Root's commands may kill the service, too: then `run` fails, and `cut_off` is the result where the sandbox lives on.
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from connectrpc.code import Code
from connectrpc.errors import ConnectError

from sandbox.capture import Capture
from sandbox.e2b.failures import FOREIGN, translated
from sandbox.e2b.wire import Ended, Output, script
from sandbox.errors import SandboxError, SandboxLostError, UnsupportedTaskError
from sandbox.protocol import ExecResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sandbox.e2b.processes import Processes
    from sandbox.e2b.wire import Event, Wire
    from sandbox.protocol import Limits, Stream

KILLED = 128 + 9
_GONE_SECONDS = 20.0
_OPEN_SECONDS = 60.0
_NO_FOLDER = b"folder"
_IN_FRONT = ("/bin/bash", "--norc", "--noprofile", "-c", 'eval "$RUN"')


class FolderMissingError(Exception):
    """The working directory is not there; nothing was run."""


class BusyError(SandboxError):
    """The service's rate limit holds: nothing was run, and it may be asked again."""


class Scanner:
    """Takes a stream up to the mark behind which lies nothing of the command's.

    Args:
        mark: The bytes in front of the status.
    """

    def __init__(self, mark: bytes) -> None:
        self._mark = mark
        self._held = b""
        self.status: bytes | None = None

    def feed(self, data: bytes) -> bytes:
        """Takes the next bytes and gives back those that are known to be the command's."""
        if self.status is not None:
            return b""
        data = self._held + data
        self._held = b""
        at = data.find(self._mark)
        if at >= 0:
            end = data.find(b"\n", at)
            if end < 0:
                self._held, data = data[at:], data[:at]
                return data
            self.status = data[at + len(self._mark) : end]
            return data[:at]
        begin = data.rfind(self._mark[:1], max(0, len(data) - len(self._mark) + 1))
        if begin >= 0 and self._mark.startswith(data[begin:]):
            self._held, data = data[begin:], data[:begin]
        return data

    def rest(self) -> bytes:
        """What was held back and is the command's after all: no mark will come."""
        held, self._held = self._held, b""
        return held


@dataclass(frozen=True, slots=True)
class Request:
    """A command with everything it is to see.

    Attributes:
        argv: Program and arguments.
        folder: Where it runs.
        variables: NAME=VALUE, all of them but HOME.
        user: A user's name.
        stdin: What it is fed; `None` for nothing.
    """

    argv: Sequence[str]
    folder: str
    variables: Sequence[str]
    user: str
    stdin: bytes | None = None


class RunningCommand:
    """One command, from its start to its result.

    Args:
        wire: The sandbox's service.
        processes: Kills what outlasts its time.
        limits: What the sandbox may use.
        on_output: Told of output as it comes.
    """

    def __init__(
        self,
        wire: Wire,
        processes: Processes,
        limits: Limits,
        on_output: Callable[[Stream, bytes], None] | None = None,
    ) -> None:
        self._wire = wire
        self._processes = processes
        self._limits = limits
        self._on_output = on_output
        word = secrets.token_hex(16)
        self._word = word
        mark = f"\0{word}:".encode()
        self._scanners: dict[str, Scanner] = {"stdout": Scanner(mark), "stderr": Scanner(mark)}
        self._captures: dict[str, Capture] = {name: Capture(limits.output_bytes) for name in self._scanners}
        loop = asyncio.get_running_loop()
        self._started: asyncio.Future[int] = loop.create_future()
        self._ended: asyncio.Future[bytes | None] = loop.create_future()
        self._timed_out = False

    @property
    def began(self) -> bool:
        """Whether the service said that it had started."""
        return self._started.done() and not self._started.cancelled() and self._started.exception() is None

    def cut_off(self) -> ExecResult:
        """The result of a command that ended together with the service."""
        return self._result(KILLED, 0.0, timed_out=self._timed_out)

    async def run(self, request: Request, timeout: float) -> ExecResult:
        """Starts it and waits for its end.

        Raises:
            FolderMissingError: Its working directory is not there.
            SandboxLostError: The sandbox died.
            UnsupportedTaskError: The user cannot be had.
            SandboxError: The service failed.
        """
        loop = asyncio.get_running_loop()
        pump = asyncio.create_task(self._pump(request))
        feeding: asyncio.Task[None] | None = None
        root = 0
        try:
            root = await self._root(request.user)
            began = loop.time()
            if request.stdin is not None:
                feeding = asyncio.create_task(self._wire.feed(root, request.stdin))
            done, _ = await asyncio.wait({self._ended}, timeout=timeout)
            seconds = loop.time() - began
            status = self._ended.result() if done else await self._time_is_up(root)
        except asyncio.CancelledError:
            await asyncio.shield(self._abandon())
            raise
        except SandboxError as error:
            await self._came_to_nothing(root, error)
            raise
        finally:
            await _cancelled(pump, feeding)
            self._processes.ended(root)
        if status == _NO_FOLDER:
            raise FolderMissingError
        if done and status is None:
            await self._processes.kill_tree(root)  # who waited for it was killed: all that it watched over must go
        exit_code = KILLED if status is None or not done else int(status)
        return self._result(exit_code, seconds, timed_out=not done)

    async def _abandon(self) -> None:
        """Kills the command of a caller that waits no more; where it has not started yet, as soon as it has."""
        await asyncio.wait({self._started}, timeout=_OPEN_SECONDS)
        if self.began and not self._ended.done():
            with suppress(SandboxError):
                await self._kill_tree(self._started.result())

    async def _came_to_nothing(self, root: int, error: SandboxError) -> None:
        """Says whether it is the sandbox that is gone; where only the connection is, the command must not run on."""
        if isinstance(error, SandboxLostError | UnsupportedTaskError):
            return
        if await self._wire.is_gone():
            raise SandboxLostError(f"the sandbox is gone under a command: {error}") from error
        if root:
            with suppress(SandboxError):
                await self._kill_tree(root)

    async def _kill_tree(self, root: int) -> None:
        """Kills a command with all it started; a service that a command has stopped does not hold that up."""
        try:
            async with asyncio.timeout(_GONE_SECONDS):
                await self._processes.kill_tree(root)
        except TimeoutError as error:
            raise SandboxLostError("the service in the sandbox answers no more") from error

    def _result(self, exit_code: int, seconds: float, *, timed_out: bool) -> ExecResult:
        out, err = self._captures["stdout"], self._captures["stderr"]
        truncated = out.truncated or err.truncated
        return ExecResult(out.result(), err.result(), exit_code, timed_out, truncated, seconds)

    async def _root(self, user: str) -> int:
        """The id of the process in front of the command."""
        done, _ = await asyncio.wait({self._started}, timeout=_OPEN_SECONDS)
        if not done:
            raise SandboxError(f"a command did not start within {_OPEN_SECONDS:g} s")
        try:
            root = self._started.result()
        except ConnectError as error:
            if error.code is Code.UNAUTHENTICATED and user != "root":
                raise UnsupportedTaskError(
                    f"user {user!r} is not in this sandbox ({error.message}): add it to the template, or use the "
                    "docker back end (--sandbox docker)"
                ) from error
            if error.code is Code.RESOURCE_EXHAUSTED:
                raise BusyError(f"starting a command: the service's rate limit holds: {error.message}") from error
            raise translated("starting a command", error) from error
        except FOREIGN as error:
            raise translated("starting a command", error) from error
        self._processes.began(root)
        return root

    async def _time_is_up(self, root: int) -> bytes | None:
        self._timed_out = True
        await self._kill_tree(root)
        done, _ = await asyncio.wait({self._ended}, timeout=_GONE_SECONDS)
        if not done:
            raise SandboxLostError("a command outlived its kill: a process hangs in the kernel, or the service does")
        self._ended.exception()
        return None

    async def _pump(self, request: Request) -> None:
        limits = self._limits
        sizes = (str(limits.file_size_mb << 10), str(limits.open_files), str(limits.processes))
        words = [self._word, request.folder, *sizes, str(len(request.variables)), *request.variables, *request.argv]
        env = {"RUN": script("run.sh"), "N": str(len(words)), **{f"W{n}": word for n, word in enumerate(words)}}
        has_input = request.stdin is not None
        try:
            async for event in self._wire.start(_IN_FRONT, user=request.user, env=env, stdin=has_input):
                self._take(event)
                if self._ended.done():
                    return
            self._fail(SandboxError("the service told no end of a command"))
        except ConnectError as error:
            if isinstance(error.__cause__, asyncio.CancelledError):
                raise error.__cause__ from error
            self._fail(error)
        except FOREIGN as error:
            self._fail(error)

    def _take(self, event: Event) -> None:
        if isinstance(event, int):
            self._started.set_result(event)
        elif isinstance(event, Output):
            self._keep(event.stream, self._scanners[event.stream].feed(event.data))
            statuses = [scanner.status for scanner in self._scanners.values()]
            if all(status is not None for status in statuses):
                self._ended.set_result(statuses[0])
        elif isinstance(event, Ended):
            for name, scanner in self._scanners.items():
                self._keep(name, scanner.rest())
            self._ended.set_result(None)

    def _keep(self, name: str, data: bytes) -> None:
        if not data:
            return
        self._captures[name].feed(data)
        if self._on_output is not None:
            self._on_output("stdout" if name == "stdout" else "stderr", data)

    def _fail(self, error: BaseException) -> None:
        """A failure goes to whoever waits: for the start, or for the end."""
        if not self._started.done():
            self._started.set_exception(error)
        elif not self._ended.done():
            self._ended.set_exception(error if isinstance(error, SandboxError) else translated("a command", error))


async def _cancelled(*tasks: asyncio.Task[None] | None) -> None:
    for task in tasks:
        if task is None:
            continue
        task.cancel()
        with suppress(asyncio.CancelledError, ConnectError):
            await task
