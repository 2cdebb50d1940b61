"""Makes the user name space of one sandbox; standard library only: the launcher imports this.

Three ways to map ids, by what the host process may do:

* `identity`: root of the host: ids 0 to 65535 are themselves, as far as the host process has them itself.
* `range`: a user with an entry in /etc/subuid and /etc/subgid: root inside is that user, others are subordinate ids.
* `single`: any user: root inside is that user, and there is no other.
"""

from __future__ import annotations

import _socket
import array
import marshal
import os

from sandbox.bubblewrap import syscalls, wire


def make(body: wire.Body, fds: dict[str, int]) -> None:
    """Makes a user name space and sends its descriptor through the report socket.

    In `single` mode this process may write the map itself. Otherwise it reports `{"map": pid}` and waits for a byte on
    the descriptor `go`: only a process outside, with rights over the ids, can do it.
    """
    uid, gid = os.getuid(), os.getgid()
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
    if body["mode"] == "single":
        _write("self/setgroups", "deny")
        _write("self/uid_map", f"0 {uid} 1")
        _write("self/gid_map", f"0 {gid} 1")
    else:
        wire.report(fds["report"], map=os.getpid())
        if not os.read(fds["go"], 1):
            return
    _forbid_more()
    fd = os.open("/proc/self/ns/user", os.O_RDONLY)
    rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [fd]))
    _socket.socket(fileno=fds["report"]).sendmsg([marshal.dumps({"done": True})], [rights])


def _forbid_more() -> None:
    """Forbids further user name spaces below this one."""
    try:
        _write("sys/user/max_user_namespaces", "0")
    except OSError:  # /proc is read-only or masked: a container around us
        return


def _write(name: str, text: str) -> None:
    fd = os.open(f"/proc/{name}", os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
