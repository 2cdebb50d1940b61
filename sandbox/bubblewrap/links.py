"""Devices, addresses and routes of the network name space this process is in, by the kernel's route messages.

Standard library only: the launcher imports this.
"""

from __future__ import annotations

import _socket
import os
import struct

_REQUEST, _ACKNOWLEDGE, _EXCLUSIVE, _CREATE = 0x1, 0x4, 0x200, 0x400
_NEW_LINK, _NEW_ADDRESS, _NEW_ROUTE, _ERROR = 16, 20, 24, 2
_LINK_NAME, _LINK_MTU, _LINK_INFO, _LINK_NETNS = 3, 4, 18, 28
_INFO_KIND, _INFO_DATA, _PEER = 1, 2, 1
_ADDRESS, _LOCAL, _NO_DUPLICATE_CHECK = 1, 2, 0x02
_TO, _DEVICE, _GATEWAY = 1, 4, 5
_MAIN_TABLE, _STATIC, _EVERYWHERE, _UNICAST, _UNREACHABLE = 254, 4, 0, 1, 7
_UP = 0x1
_MAX_ANSWER = 1 << 14


def add_pair(name: str, peer: str, netns: int, mtu: int) -> None:
    """Makes two devices that are joined: `name` here, `peer` in the name space behind the descriptor `netns`."""
    other = _link(0) + _text(_LINK_NAME, peer) + _number(_LINK_MTU, mtu) + _number(_LINK_NETNS, netns)
    info = _text(_INFO_KIND, "veth") + _attribute(_INFO_DATA, _attribute(_PEER, other))
    body = _link(0) + _text(_LINK_NAME, name) + _number(_LINK_MTU, mtu) + _attribute(_LINK_INFO, info)
    _ask(_NEW_LINK, _CREATE | _EXCLUSIVE, body)


def set_up(name: str) -> None:
    """Switches a device on."""
    _ask(_NEW_LINK, 0, _link(_socket.if_nametoindex(name), _UP, _UP))


def add_address(name: str, address: str, prefix: int) -> None:
    """Gives a device an address, usable at once."""
    family, packed = _packed(address)
    row = struct.pack("=BBBBI", family, prefix, _NO_DUPLICATE_CHECK, _EVERYWHERE, _socket.if_nametoindex(name))
    _ask(_NEW_ADDRESS, _CREATE | _EXCLUSIVE, row + _attribute(_LOCAL, packed) + _attribute(_ADDRESS, packed))


def add_default_route(name: str, gateway: str) -> None:
    """Sends what no other route takes to a gateway."""
    family, packed = _packed(gateway)
    device = _number(_DEVICE, _socket.if_nametoindex(name))
    _ask(_NEW_ROUTE, _CREATE, _route(family, 0, _UNICAST) + _attribute(_GATEWAY, packed) + device)


def reject(network: str) -> None:
    """Makes a network ("ADDRESS/PREFIX") unreachable; that it is already is no error."""
    address, _, prefix = network.partition("/")
    family, packed = _packed(address)
    try:
        _ask(_NEW_ROUTE, _CREATE | _EXCLUSIVE, _route(family, int(prefix), _UNREACHABLE) + _attribute(_TO, packed))
    except FileExistsError:
        return


def _packed(address: str) -> tuple[int, bytes]:
    family = _socket.AF_INET6 if ":" in address else _socket.AF_INET
    return int(family), _socket.inet_pton(family, address)


def _link(index: int, flags: int = 0, change: int = 0) -> bytes:
    return struct.pack("=BxHiII", 0, 0, index, flags, change)


def _route(family: int, prefix: int, kind: int) -> bytes:
    return struct.pack("=BBBBBBBBI", family, prefix, 0, 0, _MAIN_TABLE, _STATIC, _EVERYWHERE, kind, 0)


def _attribute(kind: int, content: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(content), kind) + content + bytes(-len(content) % 4)


def _text(kind: int, text: str) -> bytes:
    return _attribute(kind, text.encode() + b"\0")


def _number(kind: int, number: int) -> bytes:
    return _attribute(kind, struct.pack("=I", number))


def _ask(kind: int, flags: int, body: bytes) -> None:
    """Sends one message and waits for the kernel's word on it; `OSError` when that is no."""
    channel = _socket.socket(_socket.AF_NETLINK, _socket.SOCK_RAW | _socket.SOCK_CLOEXEC, 0)
    try:
        channel.send(struct.pack("=IHHII", 16 + len(body), kind, _REQUEST | _ACKNOWLEDGE | flags, 1, 0) + body)
        answer = channel.recv(_MAX_ANSWER)
    finally:
        channel.close()
    told, number = struct.unpack_from("=H", answer, 4)[0], struct.unpack_from("=i", answer, 16)[0]
    if told == _ERROR and number:
        raise OSError(-number, f"network message {kind}: {os.strerror(-number)}")
