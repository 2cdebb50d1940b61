"""The host's end of the launcher: starts it, sends requests, reads answers, without a thread and without blocking."""

from __future__ import annotations

import array
import asyncio
import marshal
import os
import socket
import subprocess
import sys
from pathlib import Path

from sandbox.bubblewrap import wire
from sandbox.errors import SandboxError, SandboxLostError, SandboxUnavailableError, TransferError

_START_SECONDS = 60.0
_CODE = (
    "import sys; sys.dont_write_bytecode = True; sys.path.append({root!r}); "
    "from sandbox.bubblewrap import launcher; launcher.main()"
)

_ROOT = str(Path(__file__).parents[2])


class Answer:
    """What comes back for one request: datagrams, then the end."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self.descriptors: list[int] = []

    async def next(self) -> wire.Body | None:
        """The next datagram, or `None` at the end."""
        while True:
            try:
                data, ancillary, _flags, _address = self._channel.recvmsg(wire.MAX_REPORT, socket.CMSG_SPACE(64))
                break
            except BlockingIOError:
                await readable(self._channel.fileno())
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                self.descriptors.extend(array.array("i", content))
        if not data:
            return None
        body: wire.Body = marshal.loads(data)  # noqa: S302 - written by our own launcher
        return body

    async def ended(self) -> None:
        """Waits until nobody can answer any more: every process of the request is gone."""
        while await self.next() is not None:
            pass

    def over(self) -> bool:
        """Whether that is so already; what has come of answers is thrown away."""
        if self._channel.fileno() < 0:  # whoever asked has stopped listening
            return True
        try:
            while self._channel.recv(wire.MAX_REPORT):
                pass
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Stops listening."""
        self._channel.close()


class Launcher:
    """One launcher process; started by `ready`, ended by `close`."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._starting = asyncio.Lock()
        self._sending = asyncio.Lock()

    async def ready(self) -> None:
        """Starts the launcher where none runs.

        Raises:
            SandboxUnavailableError: It does not start.
        """
        async with self._starting:
            if self._process is not None and self._process.poll() is None:
                return
            self._drop()
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            ours.setblocking(False)
            with theirs:
                self._process = subprocess.Popen(  # noqa: ASYNC220 - a vfork; waiting for it is the descriptor's job
                    [sys.executable, "-I", "-S", "-c", _CODE.format(root=_ROOT)],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    env={},
                    cwd="/",
                    start_new_session=True,
                )
            self._channel = ours
            await self._greeted()

    async def _greeted(self) -> None:
        assert self._channel is not None  # noqa: S101 - set by the caller
        assert self._process is not None  # noqa: S101 - likewise
        assert self._process.stderr is not None  # noqa: S101 - likewise
        try:
            async with asyncio.timeout(_START_SECONDS):
                await readable(self._channel.fileno())
            greeted = bool(self._channel.recv(64))
        except TimeoutError:
            greeted = False
        with self._process.stderr as errors:
            if greeted:
                return
            self._process.kill()
            text = errors.read().decode("utf-8", "replace").strip()[-2000:]
        raise SandboxUnavailableError(f"the launcher ({sys.executable}) did not start: {text or 'it said nothing'}")

    async def post(self, op: str, fds: dict[str, int], **body: object) -> Answer:
        """Sends a request; the descriptors stay the caller's.

        Raises:
            SandboxLostError: The launcher is gone.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        datagram, numbers, memory = wire.pack({"op": op, **body}, {"report": theirs.fileno(), **fds})
        try:
            async with self._sending:
                while self._channel is not None:
                    try:
                        wire.send(self._channel, datagram, numbers)
                        return Answer(ours)
                    except BlockingIOError:
                        await writable(self._channel.fileno())
        except (BrokenPipeError, ConnectionResetError):
            pass
        except BaseException:
            ours.close()
            raise
        finally:
            if memory is not None:
                os.close(memory)
            theirs.close()
        ours.close()
        raise SandboxLostError("the launcher process is gone (killed from outside?); its sandboxes are gone with it")

    async def call(self, op: str, fds: dict[str, int], **body: object) -> list[int]:
        """Sends a request and waits for its one answer.

        Returns:
            Descriptors that came with the answer.

        Raises:
            FileNotFoundError, IsADirectoryError: As the operation met them.
            TransferError: The operation refused or failed at a file.
            SandboxError: The operation failed in another way.
            SandboxLostError: Nobody answered, or the sandbox is gone.
        """
        return (await self._asked(op, fds, body))[1]

    async def ask(self, op: str, fds: dict[str, int], **body: object) -> wire.Body:
        """The same for what the answer says."""
        return (await self._asked(op, fds, body))[0]

    async def _asked(self, op: str, fds: dict[str, int], body: wire.Body) -> tuple[wire.Body, list[int]]:
        answer = await self.post(op, fds, **body)
        try:
            body_back = await answer.next()
        finally:
            answer.close()
        if body_back is None:
            raise SandboxLostError(f"{op}: no answer; the process that did it was killed from outside")
        raise_error(op, body_back)
        return body_back, answer.descriptors

    async def close(self) -> None:
        """Ends the launcher, and with it every sandbox it started."""
        process = self._process
        self._drop()
        if process is None or process.poll() is not None:
            return
        handle = os.pidfd_open(process.pid)
        try:
            async with asyncio.timeout(_START_SECONDS):
                await readable(handle)
        except TimeoutError:
            process.kill()
        finally:
            os.close(handle)
        process.wait()

    def _drop(self) -> None:
        if self._channel is not None:
            self._channel.close()
        self._channel = None
        self._process = None


def raise_error(op: str, answer: wire.Body) -> None:
    """Turns an answer that tells of an error into the error."""
    kind, message = answer.get("error"), str(answer.get("message", ""))
    if kind is None:
        return
    if kind == "gone":
        raise SandboxLostError(f"{op}: {message}")
    number = int(str(answer.get("number", 0)))
    if kind == "os":
        for exact in (FileNotFoundError, IsADirectoryError):
            if isinstance(OSError(number, message), exact):
                raise exact(number, message)
    if kind in ("os", "refused"):
        raise TransferError(f"{op}: {message}")
    raise SandboxError(f"{op}: {message}")


async def readable(fd: int) -> None:
    """Waits until a descriptor can be read, or its other end is closed."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(fd, _settle, ready)
    try:
        await ready
    finally:
        loop.remove_reader(fd)


async def writable(fd: int) -> None:
    """Waits until a descriptor can be written, or its other end is closed."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_writer(fd, _settle, ready)
    try:
        await ready
    finally:
        loop.remove_writer(fd)


def _settle(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
