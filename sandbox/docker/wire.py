"""Plain HTTP to the engine's socket, for the two things the SDK cannot do: half-closed streams and stopping a build."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from sandbox.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO

Address = str | tuple[str, int]

_OK = 200
_SWITCHED = 101
_CHUNK = 1 << 16


class EngineStream:
    """A connection on which the engine has answered a request and now sends a stream.

    Args:
        reader: What comes.
        writer: What goes.
        status: HTTP status of the answer.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, status: int) -> None:
        self.reader = reader
        self.writer = writer
        self.status = status

    def close(self) -> None:
        """Ends it at once, whatever is under way."""
        self.writer.transport.abort()


async def attach(address: Address, path: str, body: Mapping[str, object]) -> EngineStream:
    """Posts a request whose connection then carries raw bytes in both directions.

    Raises:
        SandboxError: The engine refused; says what it said.
    """
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: docker\r\nContent-Type: application/json\r\nConnection: Upgrade\r\n"
        f"Upgrade: tcp\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    stream = await _request(address, head.encode() + content)
    if stream.status not in (_OK, _SWITCHED):
        text = await _error_text(stream)
        raise SandboxError(f"attaching: {text}")
    return stream


async def send_file(
    address: Address, path: str, body: IO[bytes], size: int, headers: Mapping[str, str]
) -> EngineStream:
    """Posts a file; the answer is read from the stream to its end.

    HTTP/1.0, so that the answer comes without chunks and ends with the connection.

    Raises:
        SandboxError: The engine refused; says what it said.
    """
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"POST {path} HTTP/1.0\r\nHost: docker\r\n{lines}Content-Length: {size}\r\n\r\n"
    stream = await _request(address, head.encode(), body)
    if stream.status != _OK:
        raise SandboxError(await _error_text(stream))
    return stream


async def _request(address: Address, head: bytes, body: IO[bytes] | None = None) -> EngineStream:
    try:
        if isinstance(address, str):
            reader, writer = await asyncio.open_unix_connection(address)
        else:
            reader, writer = await asyncio.open_connection(*address)
    except OSError as error:
        raise SandboxError(f"the Docker engine does not answer any more: {error}") from error
    stream = EngineStream(reader, writer, 0)
    try:
        writer.write(head)
        while body is not None and (data := body.read(_CHUNK)):
            writer.write(data)
            await writer.drain()
        answer = await reader.readuntil(b"\r\n\r\n")
        stream.status = int(answer.split(None, 2)[1])
    except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
        stream.close()
        raise SandboxError(f"the Docker engine broke off: {error}") from error
    except BaseException:
        stream.close()
        raise
    return stream


async def _error_text(stream: EngineStream) -> str:
    try:
        content = await stream.reader.read(_CHUNK)
    except OSError:
        content = b""
    stream.close()
    text = content.decode("utf-8", "replace")
    start = text.find("{")
    try:
        found = json.loads(text[start : text.rfind("}") + 1]) if start >= 0 else {}
    except ValueError:
        found = {}
    return (
        str(found.get("message", "")) if isinstance(found, dict) and found.get("message") else text or "no reason given"
    )
