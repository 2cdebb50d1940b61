"""How the host process and the launcher talk: one datagram for a request, with descriptors beside it.

A request is a dictionary and a list of descriptors, which its `fds` names; what is too large for a datagram comes in a
memory file, the first descriptor, instead. Every request names a `report` descriptor: a socket on which the answer
comes, a dictionary in each datagram, then the end. Both sides are the same Python, so `marshal` will do: it needs no
memory of its own, and every page that a fork touches costs time. Standard library only: the launcher imports this.
"""

from __future__ import annotations

import _socket
import array
import marshal
import os

MAX_DESCRIPTORS = 24
MAX_REPORT = 1 << 16
MAX_DATAGRAM = 1 << 15

Body = dict[str, object]


def pack(body: Body, fds: dict[str, int]) -> tuple[bytes, list[int], int | None]:
    """Makes a request of a body and its descriptors.

    Returns:
        The datagram, the descriptors that go with it, and that of a memory file for the sender to close, if any.
    """
    text = marshal.dumps({**body, "fds": list(fds)})
    if len(text) < MAX_DATAGRAM:
        return b"d" + text, list(fds.values()), None
    memory = os.memfd_create("request", os.MFD_CLOEXEC)
    view = memoryview(text)
    while view:
        view = view[os.write(memory, view) :]
    return b"m", [memory, *fds.values()], memory


def send(channel: _socket.socket, datagram: bytes, fds: list[int]) -> None:
    """Sends one request; raises `BlockingIOError` when the channel is full."""
    channel.sendmsg([datagram], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", fds))])


def receive(channel: _socket.socket) -> tuple[Body, dict[str, int]] | None:
    """Takes one request, with its descriptors by name; `None` at the end of the channel."""
    data, ancillary, _flags, _address = channel.recvmsg(
        MAX_DATAGRAM + 1, _socket.CMSG_SPACE(MAX_DESCRIPTORS * 4), _socket.MSG_CMSG_CLOEXEC
    )
    if not data:
        return None
    fds = array.array("i")
    for level, kind, content in ancillary:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
    numbers = list(fds)
    text = data[1:]
    if data[:1] == b"m":
        memory = numbers.pop(0)
        text = os.pread(memory, os.fstat(memory).st_size, 0)
        os.close(memory)
    body: Body = marshal.loads(text)  # noqa: S302 - written by `pack`
    names = body.pop("fds")
    assert isinstance(names, list)  # noqa: S101 - likewise
    return body, dict(zip(names, numbers, strict=True))


def report(fd: int, **fields: object) -> None:
    """Sends one datagram of an answer; a reader that has gone away is no error."""
    try:
        os.write(fd, marshal.dumps(fields))
    except (BrokenPipeError, ConnectionResetError):
        return
