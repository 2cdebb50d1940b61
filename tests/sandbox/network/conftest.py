"""A proxy and a host to reach through it, both on this machine's loopback."""

import asyncio
import contextlib
import socket
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from sandbox.network.allowlist import AllowlistProxy


@dataclass
class Host:
    """An HTTP server that keeps what it was sent, and answers each connection once."""

    port: int = 0
    received: list[bytes] = field(default_factory=list)

    async def answer(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        rest = b""
        with contextlib.suppress(TimeoutError):
            while piece := await asyncio.wait_for(reader.read(65536), 0.2):
                rest += piece
        self.received.append(head + rest)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        await writer.drain()
        writer.close()


@dataclass
class Proxy:
    """How a test speaks to the proxy: raw bytes in, all bytes until the end of the connection out."""

    port: int
    refusals: list[str]

    async def open(self):
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def ask(self, request: bytes) -> bytes:
        reader, writer = await self.open()
        writer.write(request)
        answer = await asyncio.wait_for(reader.read(), 20)
        writer.close()
        return answer

    async def get(self, url: str, *headers: str) -> bytes:
        return await self.ask("\r\n".join([f"GET {url} HTTP/1.1", *headers, "", ""]).encode("latin-1"))


@asynccontextmanager
async def proxy(*allowed: str, family: int = socket.AF_INET, **settings):
    refusals: list[str] = []
    listening = socket.create_server(("127.0.0.1", 0), family=family, backlog=512)
    server = AllowlistProxy(allowed, on_refused=refusals.append, **settings)
    serving = asyncio.create_task(server.serve(listening))
    try:
        yield Proxy(listening.getsockname()[1], refusals)
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


@pytest.fixture
def proxy_for():
    return proxy


@pytest.fixture
async def host():
    made = Host()
    server = await asyncio.start_server(made.answer, "127.0.0.1", 0, backlog=512)
    made.port = server.sockets[0].getsockname()[1]
    yield made
    server.close()
