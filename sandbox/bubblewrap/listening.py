"""Makes a listening socket inside a sandbox for a server outside; standard library only: the launcher imports this."""

from __future__ import annotations

import _socket
import array
import marshal

from sandbox.bubblewrap import syscalls, wire

_BACKLOG = 256


def listen(body: wire.Body, fds: dict[str, int]) -> None:
    """Listens at `body["port"]` of the sandbox's own loopback, and sends the socket through the report socket."""
    syscalls.setns(fds["init"], syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNET)
    listening = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    listening.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", int(str(body["port"]))))
    listening.listen(_BACKLOG)
    send_descriptor(fds["report"], listening.fileno(), done=True)


def send_descriptor(report: int, fd: int, **fields: object) -> None:
    """Sends one datagram of an answer with a descriptor beside it."""
    channel = _socket.socket(fileno=report)
    try:
        channel.sendmsg([marshal.dumps(fields)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [fd]))])
    finally:
        channel.detach()
