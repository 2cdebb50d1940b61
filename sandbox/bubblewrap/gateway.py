"""Joins a sandbox to the internet by way of a gateway; standard library only: the launcher imports this.

The sandbox's one device leads to a further network name space, the gateway, and `pasta` is attached to that one. Were
it attached to the sandbox's, a process could send packets past the routes (`SO_BINDTODEVICE` is enough), and `pasta`
would connect to this machine's loopback and to the metadata service for it. Here the gateway's kernel forwards every
packet, out of the sandbox's hands: what its routes reject stays inside.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # `signal` wraps all in enums, at a price for each fork
import _socket
import array
import os
import time

from sandbox.bubblewrap import keeper, links, listening, syscalls, wire

SANDBOX, INSIDE = ("198.18.233.2", "fdea:d5b0:9c2a:1::2"), ("198.18.233.1", "fdea:d5b0:9c2a:1::1")
OUTSIDE, PASTA = ("198.18.233.6", "fdea:d5b0:9c2a:2::6"), ("198.18.233.5", "fdea:d5b0:9c2a:2::5")
PREFIXES = (30, 64)
TAP = "tap0"
_PR_SET_PDEATHSIG = 1
_MTU = 65_520
_NETNS_FD = 3
_LOOK_SECONDS = 0.002


def attach(body: wire.Body, fds: dict[str, int]) -> None:
    """Becomes `pasta`; a child of it makes the gateway and reports `{"done": True}` once packets can pass.

    Reports `{"pasta": True}` with a process descriptor first. The sandbox is that of the descriptor `init`; without
    one, a user name space (`userns`) with an empty network stands for it, to try whether all this works here.

    Args:
        body: `arguments` of `pasta`; `families` (0 for IPv4, 1 for IPv6) to be had; networks to `reject`; `patience` in
            seconds.
        fds: `stderr` takes what `pasta` says.
    """
    launcher = os.getppid()
    syscalls.setns(fds["init"] if "init" in fds else fds["userns"], syscalls.CLONE_NEWUSER)
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    if not os.fork():
        try:
            ours.close()
            _make(body, fds, theirs)
        except OSError as error:
            wire.report(fds["report"], error="os", number=error.errno or 0, message=str(error))
        finally:
            os._exit(0)
    theirs.close()
    _data, ancillary, _flags, _address = ours.recvmsg(16, _socket.CMSG_SPACE(4))
    if not ancillary:
        return
    listening.send_descriptor(fds["report"], os.pidfd_open(os.getpid()), pasta=True)
    _become_pasta(body, fds["stderr"], array.array("i", ancillary[0][2])[0], launcher)


def _become_pasta(body: wire.Body, stderr: int, netns: int, launcher: int) -> None:
    arguments = body["arguments"]
    assert isinstance(arguments, list)  # noqa: S101 - written by the host
    null = os.open("/dev/null", os.O_RDWR)
    for fd, number in ((null, 0), (null, 1), (stderr, 2), (os.dup(netns), _NETNS_FD)):
        os.dup2(fd, number)
    os.closerange(_NETNS_FD + 1, 1 << 16)
    for number in keeper.IGNORED_BY_PYTHON:
        _signal.signal(number, _signal.SIG_DFL)
    syscalls.prctl(_PR_SET_PDEATHSIG, _signal.SIGKILL)
    if os.getppid() == launcher:  # else it died before we were tied to it
        os.execve(arguments[0], [*arguments, "--netns", f"/proc/self/fd/{_NETNS_FD}"], {})  # noqa: S606 - no shell


def _make(body: wire.Body, fds: dict[str, int], pasta: _socket.socket) -> None:
    """Makes the gateway, hands it to the process that becomes `pasta`, and routes through what that one makes."""
    families, rejected = body["families"], body["reject"]
    assert isinstance(families, list)  # noqa: S101 - written by the host
    assert isinstance(rejected, list)  # noqa: S101 - likewise
    watched = os.getppid()
    if "init" in fds:
        syscalls.setns(fds["init"], syscalls.CLONE_NEWNET)
    else:
        syscalls.unshare(syscalls.CLONE_NEWNET)
    sandbox = _own_network()
    _use_at_once(families)
    syscalls.unshare(syscalls.CLONE_NEWNET)
    gateway = _own_network()
    _use_at_once(families)
    for family in families:
        _setting(("ipv4/ip_forward", "ipv6/conf/all/forwarding")[family], b"1")
    for network in rejected:
        links.reject(network)
    links.add_pair("inside", "eth0", sandbox, _MTU)
    _set("inside", INSIDE, families)
    syscalls.setns(sandbox, syscalls.CLONE_NEWNET)
    _set("eth0", SANDBOX, families, INSIDE)
    syscalls.setns(gateway, syscalls.CLONE_NEWNET)
    pasta.sendmsg([b"1"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [gateway]))])
    pasta.close()
    _wait_for_tap(watched, float(str(body["patience"])))
    _set(TAP, OUTSIDE, families, PASTA)
    wire.report(fds["report"], done=True)


def _own_network() -> int:
    return os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _set(device: str, addresses: tuple[str, str], families: list[int], via: tuple[str, str] | None = None) -> None:
    links.set_up(device)
    for family in families:
        links.add_address(device, addresses[family], PREFIXES[family])
        if via is not None:
            links.add_default_route(device, via[family])


def _use_at_once(families: list[int]) -> None:
    """Nobody else is on these wires: no new IPv6 address has to wait until it is sure of that."""
    if 1 in families:
        _setting("ipv6/conf/default/accept_dad", b"0")


def _setting(name: str, value: bytes) -> None:
    fd = os.open(f"/proc/sys/net/{name}", os.O_WRONLY | os.O_CLOEXEC)
    os.write(fd, value)
    os.close(fd)


def _wait_for_tap(pasta: int, patience: float) -> None:
    until = time.monotonic() + patience
    while TAP not in (name for _, name in _socket.if_nameindex()):
        if os.getppid() != pasta:
            raise ChildProcessError(10, "pasta ended at its start")
        if time.monotonic() > until:
            raise TimeoutError(110, f"pasta made no device within {patience:g} s")
        time.sleep(_LOOK_SECONDS)
