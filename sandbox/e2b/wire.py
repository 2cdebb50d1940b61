"""The service inside a sandbox (envd), spoken to directly: bytes as they are, argument vectors without a login shell.

The package's own `commands.run` puts a login shell in front of every command and decodes what comes as text; the
generated clients in the same wheel do neither.
"""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from connectrpc.errors import ConnectError
from e2b.connection_config import KEEPALIVE_PING_HEADER, KEEPALIVE_PING_INTERVAL_SEC
from e2b.envd.client_async import create_rpc_client
from e2b.envd.filesystem.filesystem_connect import FilesystemClient
from e2b.envd.process.process_connect import ProcessClient
from e2b.envd.process.process_pb import (
    CloseStdinRequest,
    ProcessConfig,
    ProcessEvent,
    ProcessInput,
    ProcessSelector,
    SendInputRequest,
    StartRequest,
)
from protobuf import Oneof

from sandbox.e2b.failures import FOREIGN, attempted, boundary
from sandbox.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from e2b import AsyncSandbox
    from e2b.envd.process.process_pb import StartResponse

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
REQUEST_MS = 60_000
_INPUT_CHUNK = 1 << 19
_SCRIPTS = Path(__file__).parent / "scripts"


@lru_cache
def script(name: str) -> str:
    """The text of a script in `scripts/`."""
    return (_SCRIPTS / name).read_text()


def as_user(user: str) -> dict[str, str]:
    """The header by which a request says whose it is."""
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:".encode()).decode()}


@dataclass(frozen=True, slots=True)
class Output:
    """Bytes of one of a process's streams: `stdout` or `stderr`."""

    stream: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Ended:
    """The status a process ended with; 128 + 9 where a signal ended it."""

    status: int


Event = int | Output | Ended
"""What comes of a process: first its id, then output, at last its end."""


class Wire:
    """One sandbox's service.

    Args:
        cloud: The sandbox.
    """

    def __init__(self, cloud: AsyncSandbox) -> None:
        self.cloud = cloud
        self.processes = create_rpc_client(ProcessClient, cloud.envd_api_url, cloud.connection_config)
        self.folders = create_rpc_client(FilesystemClient, cloud.envd_api_url, cloud.connection_config)

    async def start(
        self, argv: Sequence[str], *, user: str = "root", env: Mapping[str, str] | None = None, stdin: bool = False
    ) -> AsyncIterator[Event]:
        """Starts a process in `/` and yields what comes of it; closing the iterator leaves the process running."""
        config = ProcessConfig(cmd=argv[0], args=list(argv[1:]), envs=dict(env or {}), cwd="/")
        headers = {**as_user(user), KEEPALIVE_PING_HEADER: str(KEEPALIVE_PING_INTERVAL_SEC)}
        # No time-out goes along: the service would end the process with it, and that one alone.
        async for response in self.processes.start(StartRequest(process=config, stdin=stdin), headers=headers):
            event = _event(response)
            if event is not None:
                yield event

    async def is_gone(self) -> bool:
        """Whether the service says that there is no such sandbox any more; no answer at all says nothing."""
        try:
            return not await self.cloud.is_running()
        except FOREIGN:
            return False

    async def feed(self, pid: int, data: bytes) -> None:
        """Writes to a process's standard input and closes it; a process that reads no more is no failure."""
        selector: Oneof[Literal["pid"], int] = Oneof("pid", pid)
        process = ProcessSelector(selector=selector)
        try:
            for begin in range(0, len(data), _INPUT_CHUNK):
                chunk: Oneof[Literal["stdin"], bytes] = Oneof("stdin", data[begin : begin + _INPUT_CHUNK])
                await self.processes.send_input(SendInputRequest(process=process, input=ProcessInput(input=chunk)))
            await self.processes.close_stdin(CloseStdinRequest(process=process), timeout_ms=REQUEST_MS)
        except ConnectError as error:
            if isinstance(error.__cause__, asyncio.CancelledError):
                raise error.__cause__ from error

    async def run_script(self, name: str, *arguments: str) -> bytes:
        """Runs a script of ours as root that may be run twice; its standard output.

        Raises:
            SandboxError: It ended with another status than 0, or the service failed.
        """
        return await attempted(f"{name} in the sandbox", lambda: self._run_script(name, arguments))

    async def _run_script(self, name: str, arguments: Sequence[str]) -> bytes:
        output = bytearray()
        status = await self.stream_script(name, arguments, output.extend)
        if status:
            raise SandboxError(f"{name} in the sandbox ended with status {status}: {_tail(output)}")
        return bytes(output)

    async def stream_script(self, name: str, arguments: Sequence[str], take: Callable[[bytes], object]) -> int:
        """Runs a script of ours as root and hands its standard output on as it comes; its status.

        Raises:
            SandboxError: It says something on standard error and fails.
        """
        told = bytearray()
        argv = ["/bin/bash", "--norc", "--noprofile", "-c", script(name), name, *arguments]
        async for event in self.start(argv, env={"PATH": SYSTEM_PATH, "LC_ALL": "C"}):
            if isinstance(event, Ended):
                if event.status and told:
                    raise SandboxError(f"{name} in the sandbox ended with status {event.status}: {_tail(told)}")
                return event.status
            if isinstance(event, Output):
                if event.stream == "stdout":
                    take(event.data)
                else:
                    told += event.data
        raise SandboxError(f"{name} in the sandbox: the service told no end of it")

    async def run_tool(self, *argv: str) -> None:
        """Runs a program of the sandbox as root, found in the system's folders alone.

        Raises:
            SandboxError: It failed; says what it said.
        """
        told = bytearray()
        with boundary(f"{argv[0]} in the sandbox"):
            async for event in self.start(argv, env={"PATH": SYSTEM_PATH, "LC_ALL": "C"}):
                if isinstance(event, Output):
                    told += event.data
                elif isinstance(event, Ended) and event.status:
                    raise SandboxError(f"{argv[0]} in the sandbox ended with status {event.status}: {_tail(told)}")


def _event(response: StartResponse) -> Event | None:
    told = response.event.event if response.event else None
    match told.value if told else None:
        case ProcessEvent.StartEvent(pid=pid):
            return pid
        case ProcessEvent.DataEvent(output=Oneof(field=stream, value=data)):
            return Output(stream, data)
        case ProcessEvent.EndEvent() as end:
            return Ended(end.exit_code if end.exited and end.exit_code >= 0 else 128 + 9)
        case _:
            return None


def _tail(said: bytes | bytearray) -> str:
    return bytes(said[-1000:]).decode("utf-8", "replace").strip()
