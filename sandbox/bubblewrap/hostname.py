"""Gives a running sandbox another host name; standard library only: the launcher imports this."""

from __future__ import annotations

import _socket

from sandbox.bubblewrap import syscalls, wire


def rename(body: wire.Body, fds: dict[str, int]) -> None:
    """Sets the host name of a sandbox to `body["name"]`; commands in it may not do so themselves."""
    syscalls.join(fds["init"], syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWUTS)
    _socket.sethostname(str(body["name"]))
    wire.report(fds["report"], done=True)
