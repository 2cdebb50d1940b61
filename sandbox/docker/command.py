"""Runs one command in a container: its streams, its time-out, its exit status."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.capture import Capture
from sandbox.docker.wire import attach
from sandbox.errors import SandboxError, SandboxLostError
from sandbox.protocol import ExecResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from sandbox.docker.engine import Engine
    from sandbox.docker.processes import LocalProcesses
    from sandbox.docker.wire import Address, EngineStream
    from sandbox.protocol import Stream

KILLED = 128 + 9

_GRACE_SECONDS = 0.5
_GONE_SECONDS = 20.0
_QUIET_SECONDS = 0.25
_MOST_POLL_SECONDS = 1.0
_SETTLE_SECONDS = 60.0  # a busy engine tells of an end late
_CHUNK = 1 << 16
_HEADER = 8
_STREAMS: dict[int, Stream] = {1: "stdout", 2: "stderr"}


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be run.

    Attributes:
        argv: Program and arguments.
        env: Rows `NAME=value`; a bare `NAME` takes a variable of the container away.
        cwd: Working directory.
        user: Name or number, "" for the container's.
        stdin: What it is fed; `None` for nothing at all.
    """

    argv: Sequence[str]
    env: Sequence[str]
    cwd: str
    user: str
    stdin: bytes | None


@dataclass(frozen=True, slots=True)
class NotStarted:
    """The engine could not start the command: what it said."""

    text: str


class RunningCommand:
    """One command, from its start to its result.

    Args:
        engine: The engine.
        address: Its socket.
        container: Id of the container.
        output_bytes: Bytes kept of each stream.
        on_output: Told of each piece of output.
        kill: Kills a command, by its process on the engine's machine, with all that it started.
        commands: Processes of the commands that run in the container; this one is among them while it does.
        processes: Those of the container, where this machine can see them.
    """

    def __init__(
        self,
        engine: Engine,
        address: Address,
        container: str,
        *,
        output_bytes: int,
        on_output: Callable[[Stream, bytes], None] | None,
        kill: Callable[[int], Awaitable[None]],
        commands: set[int],
        processes: LocalProcesses | None,
    ) -> None:
        self._engine = engine
        self._address = address
        self._container = container
        self._captures: dict[Stream, Capture] = {"stdout": Capture(output_bytes), "stderr": Capture(output_bytes)}
        self._on_output = on_output
        self._kill = kill
        self._commands = commands
        self._processes = processes
        self._heard = 0.0
        self._id = ""

    async def run(self, request: Request, timeout: float) -> ExecResult | NotStarted:
        """Starts it and waits for its end.

        Raises:
            SandboxLostError: The container is gone.
            SandboxError: The engine failed.
        """
        api = self._engine.client.api
        created = await self._engine.call(
            "making a command ready",
            api.exec_create,
            self._container,
            list(request.argv),
            stdin=request.stdin is not None,
            environment=list(request.env),
            workdir=request.cwd,
            user=request.user,
        )
        self._id = str(created["Id"])
        path = f"/v{api.api_version}/exec/{self._id}/start"
        loop = asyncio.get_running_loop()
        started = loop.time()
        stream = await attach(self._address, path, {"Detach": False, "Tty": False})
        try:
            timed_out = await self._follow(stream, request.stdin, timeout)
        finally:
            seconds = loop.time() - started
            stream.close()
        state = await self._settled()
        exit_code = int(str(state.get("ExitCode") or 0))
        out, err = self._captures["stdout"], self._captures["stderr"]
        if not timed_out and exit_code and not state.get("Pid"):
            return NotStarted((out.result() + err.result()).decode("utf-8", "replace").strip())
        return ExecResult(
            out.result(),
            err.result(),
            KILLED if timed_out else exit_code,
            timed_out,
            out.truncated or err.truncated,
            seconds,
        )

    async def _follow(self, stream: EngineStream, stdin: bytes | None, timeout: float) -> bool:
        """Reads to the end of the output or of the command; whether its time was up."""
        reading = asyncio.create_task(self._read(stream))
        watching = asyncio.create_task(self._ended())
        feeding = asyncio.create_task(self._feed(stream, stdin))
        timed_out = False
        try:
            done, _ = await asyncio.wait((reading, watching), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                timed_out = True
                await self._stop()
                await asyncio.wait((reading,), timeout=_GONE_SECONDS)
                if not reading.done() and (await self._inspect()).get("Running"):
                    raise SandboxLostError("a command outlived its kill: a process hangs in the kernel")
            else:
                await self._drain(reading)
        except asyncio.CancelledError:
            await asyncio.shield(self._stop())
            raise
        finally:
            for task in (reading, watching, feeding):
                task.cancel()
            await asyncio.gather(reading, watching, feeding, return_exceptions=True)
        return timed_out

    async def _drain(self, reading: asyncio.Task[None]) -> None:
        """Waits for the end of the output once the command has ended.

        A process that it left may hold it open for ever, so silence ends it too. A busy engine is silent as well: it is
        waited for where this machine can see that nobody is left.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + _GONE_SECONDS
        self._heard = loop.time()
        while not reading.done() and loop.time() < until:
            await asyncio.wait((reading,), timeout=_GRACE_SECONDS / 5)
            silent = loop.time() - self._heard >= _GRACE_SECONDS
            if silent and (self._processes is None or self._processes.anybody(self._commands)):
                return

    async def _stop(self) -> None:
        state = await self._inspect()
        if state.get("Running") or not state.get("Pid"):
            await self._kill(int(str(state.get("Pid") or 0)))

    async def _read(self, stream: EngineStream) -> None:
        """Takes the frames in which the engine mixes the two streams."""
        reader = stream.reader
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                header = await reader.readexactly(_HEADER)
                name, left = _STREAMS.get(header[0], "stderr"), int.from_bytes(header[4:], "big")
                while left:
                    data = await reader.read(min(left, _CHUNK))
                    if not data:
                        return
                    left -= len(data)
                    self._heard = asyncio.get_running_loop().time()
                    self._captures[name].feed(data)
                    if self._on_output is not None:
                        self._on_output(name, data)

    async def _feed(self, stream: EngineStream, stdin: bytes | None) -> None:
        if stdin is None:
            return
        view = memoryview(stdin)
        with suppress(ConnectionError):
            while view:
                stream.writer.write(view[:_CHUNK])
                view = view[_CHUNK:]
                await stream.writer.drain()
            stream.writer.write_eof()

    async def _ended(self) -> None:
        """Waits for the end of the command itself, while processes that it left may hold its output open."""
        pause = _QUIET_SECONDS
        while True:
            await asyncio.sleep(pause)
            state = await self._inspect()
            if state.get("ExitCode") is not None and not state.get("Running"):
                return
            pid = int(str(state.get("Pid") or 0))
            if self._processes is not None and pid:
                self._commands.add(pid)
                try:
                    await _gone(pid)
                finally:
                    self._commands.discard(pid)
                return
            pause = min(pause * 2, _MOST_POLL_SECONDS)

    async def _settled(self) -> Mapping[str, object]:
        """What the engine says of the command once it knows of its end, which may be after its output has ended."""
        loop = asyncio.get_running_loop()
        until, pause = loop.time() + _SETTLE_SECONDS, 0.005
        state = await self._inspect()
        while (state.get("Running") or state.get("ExitCode") is None) and loop.time() < until:
            await asyncio.sleep(pause)
            pause = min(pause * 2, _MOST_POLL_SECONDS)
            state = await self._inspect()
        if state.get("Running") or state.get("ExitCode") is None:
            raise SandboxError("the Docker engine closed a command's output, yet says that it runs: restart the engine")
        return state

    async def _inspect(self) -> Mapping[str, object]:
        found: Mapping[str, object] = await self._engine.call(
            "asking for a command", self._engine.client.api.exec_inspect, self._id
        )
        return found


async def _gone(pid: int) -> None:
    """Waits until a process of this machine has ended."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return
    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    loop.add_reader(fd, lambda: None if ended.done() else ended.set_result(None))
    try:
        await ended
    finally:
        loop.remove_reader(fd)
        os.close(fd)
