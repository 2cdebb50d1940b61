"""One machine of the test's cloud: a bubblewrap sandbox with the service `envd.py` running in it."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from connectrpc.code import Code
from connectrpc.errors import ConnectError

from sandbox.errors import SandboxError
from sandbox.protocol import Limits, Network

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sandbox.protocol import Image, Sandbox, SandboxBackend, Snapshot

ENVD = Path(__file__).with_name("envd.py")
LIMITS = Limits(memory_mb=None, processes=2048, timeout=3600)


@dataclass(frozen=True)
class Size:
    """What every machine says to have: as much as this project's own tasks ask for."""

    cpus: int = 1
    memory_mb: int = 2048


@dataclass
class Machine:
    """A running machine.

    Attributes:
        id: Its name in the cloud.
        template: What it was made from.
        asked: The request that made it.
        sandbox: The sandbox behind it.
        token: What its service wants to hear.
        port: Where its service listens; 0 while it is being started anew.
        service: Starts the service, and again each time it ends, as the real cloud's init does.
        end: When it is killed.
        cpus: Processors that it says to have.
        memory_mb: Memory that it says to have.
    """

    id: str
    template: str
    asked: dict[str, object]
    sandbox: Sandbox
    token: str
    end: datetime
    cpus: int
    memory_mb: int
    port: int = 0
    service: asyncio.Task[None] | None = None
    started: datetime = field(default_factory=lambda: datetime.now(UTC))

    @classmethod
    async def start(
        cls, backend: SandboxBackend, origin: Image | Snapshot, template: str, asked: dict[str, object], size: Size
    ) -> Machine:
        # The service has to be reached from outside: the sandbox shares the machine's network.
        sandbox = await backend.start(origin, limits=LIMITS, network=Network("host"))
        await sandbox.write_file("/run/envd.py", ENVD.read_bytes())
        end = datetime.now(UTC) + timedelta(seconds=float(str(asked.get("timeout") or 300)))
        token = secrets.token_hex(16)
        machine = cls(f"i{secrets.token_hex(8)}", template, asked, sandbox, token, end, size.cpus, size.memory_mb)
        machine.service = asyncio.create_task(machine._serve())
        while not machine.port:
            if machine.service.done():
                machine.service.result()
            await asyncio.sleep(0.01)
        return machine

    async def _serve(self) -> None:
        """Keeps the service running until the machine is killed."""
        while True:
            with suppress(SandboxError):
                await self.sandbox.remove("/run/envd.port")
            command = ["/usr/bin/python3", "-IS", "/run/envd.py", self.token]
            service = asyncio.create_task(self.sandbox.exec(command, timeout=3600))
            while not self.port:
                if service.done():
                    raise SandboxError(f"the service did not start: {service.result().error_text}")
                with suppress(FileNotFoundError, ValueError):
                    self.port = int(await self.sandbox.read_file("/run/envd.port"))
                await asyncio.sleep(0.01)
            await service
            self.port = 0

    async def kill(self) -> None:
        await self.sandbox.stop()
        if self.service is not None:
            with suppress(SandboxError):
                await self.service

    async def ask(self, op: str, **body: object) -> AsyncIterator[dict[str, object]]:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 28)
        except OSError:
            raise ConnectError(Code.UNAVAILABLE, "the sandbox runs, but its service does not answer") from None
        try:
            writer.write(json.dumps({"token": self.token, "op": op, **body}).encode() + b"\n")
            await writer.drain()
            while line := await reader.readline():
                answer = json.loads(line)
                if "error" in answer:
                    raise ConnectError(Code(answer["error"]), answer["message"])
                yield answer
        except ConnectionError:
            return
        finally:
            writer.close()

    async def run_in_background(self, *argv: str) -> None:
        """Starts a process as root and leaves it: a stand-in for those that a snapshot of memory brings along."""
        await self.answer("start", user="root", cmd=argv[0], args=list(argv[1:]), cwd="/", envs={}, stdin=False)

    async def answer(self, op: str, **body: object) -> dict[str, object]:
        async for told in self.ask(op, **body):
            return told
        raise ConnectError(Code.UNAVAILABLE, "the connection to the sandbox ended before the request completed")

    async def read(self, path: str) -> AsyncIterator[bytes]:
        async for told in self.ask("read", path=path):
            yield base64.b64decode(str(told.get("data", "")))

    def described(self) -> dict[str, object]:
        return {
            "sandboxID": self.id, "templateID": self.template, "clientID": "here", "envdVersion": "0.6.7",
            "startedAt": self.started.isoformat(), "endAt": self.end.isoformat(), "cpuCount": self.cpus,
            "memoryMB": self.memory_mb, "diskSizeMB": 1024, "state": "running", "metadata": self.asked.get("metadata") or {},
        }  # fmt: skip
