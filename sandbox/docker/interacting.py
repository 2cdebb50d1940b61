"""A command at a terminal in a container: the engine makes a terminal there, and its bytes are carried to ours."""

from __future__ import annotations

import asyncio
import fcntl
import os
import struct
import termios
import tty
from typing import TYPE_CHECKING, cast

from sandbox.docker.environment import env_rows
from sandbox.errors import SandboxLostError, UnsupportedTaskError

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping, Sequence

    from sandbox.docker.sandbox import DockerSandbox

_CHUNK = 1 << 16
_LOOK_AT_SIZE_SECONDS = 0.3
_NO_USER = "unable to find user"


class DockerTerminal:
    """A container as an `Interactive`; both ends have a terminal, and ours hands every byte on as it is.

    Args:
        sandbox: The container.
    """

    def __init__(self, sandbox: DockerSandbox) -> None:
        self._sandbox = sandbox
        self._engine = sandbox.parts.engine
        self._api = sandbox.parts.engine.client.api

    async def interact(
        self,
        command: str | Sequence[str],
        *,
        terminal_fd: int,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | int | None = None,
    ) -> int:
        """See `sandbox.shell.interactive.Interactive`."""
        image, parts = self._sandbox.image, self._sandbox.parts
        made = await self._engine.call(
            "making a command",
            self._api.exec_create,
            parts.container,
            ["bash", "-c", command] if isinstance(command, str) else list(command),
            stdin=True,
            tty=True,
            environment=env_rows({**image.env, **parts.joined.env, **(env or {})}, parts.image_env),
            workdir=cwd or image.workdir or "/",
            user=image.user if user is None else str(user),
        )
        name = str(made["Id"])
        stream = await self._engine.call("starting a command", self._api.exec_start, name, tty=True, socket=True)
        carried = cast("socket.socket", getattr(stream, "_sock", stream))
        shown = b""
        try:
            shown = await self._carry(carried, terminal_fd, name)
        except asyncio.CancelledError:
            await asyncio.shield(self._sandbox.kill_processes())
            raise
        finally:
            carried.close()
        return await self._status(name, shown)

    async def _carry(self, carried: socket.socket, terminal_fd: int, name: str) -> bytes:
        """Carries bytes both ways until the command's side ends; returns the first it wrote."""
        loop = asyncio.get_running_loop()
        carried.setblocking(False)
        tty.setraw(terminal_fd)
        sizes = asyncio.create_task(self._follow_size(terminal_fd, name))
        pending: set[asyncio.Task[None]] = set()

        def typed() -> None:
            task = loop.create_task(loop.sock_sendall(carried, os.read(terminal_fd, _CHUNK)))
            pending.add(task)
            task.add_done_callback(pending.discard)

        loop.add_reader(terminal_fd, typed)
        first = b""
        try:
            while data := await loop.sock_recv(carried, _CHUNK):
                first = first or data
                os.write(terminal_fd, data)
        except ConnectionResetError:
            pass
        finally:
            loop.remove_reader(terminal_fd)
            sizes.cancel()
            await asyncio.gather(sizes, *pending, return_exceptions=True)
        return first

    async def _follow_size(self, terminal_fd: int, name: str) -> None:
        """Gives the container's terminal the size of ours; only the process that sits at ours is told of a change."""
        known = (0, 0)
        while True:
            lines, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(terminal_fd, termios.TIOCGWINSZ, b"\0" * 8))
            if (lines, columns) != known and lines and columns:
                known = (lines, columns)
                await self._engine.call("resizing a terminal", self._api.exec_resize, name, height=lines, width=columns)
            await asyncio.sleep(_LOOK_AT_SIZE_SECONDS)

    async def _status(self, name: str, shown: bytes) -> int:
        ended = await self._engine.call("asking for a command", self._api.exec_inspect, name)
        status = ended.get("ExitCode")
        if status is None:
            raise SandboxLostError(f"sandbox {self._sandbox.id}: the engine does not know how the command ended")
        text = shown.decode("utf-8", "replace")
        if status and _NO_USER in text:
            raise UnsupportedTaskError(f"the user is not in the sandbox's /etc/passwd: {text.strip()}")
        return int(status)
