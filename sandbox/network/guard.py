"""Closes routes of the network name space it runs in: `python3 guard.py --reject NETWORK … --keep ADDRESS …`.

One file, standard library only, Python 3.8 or newer: it runs in a short-lived container of its own that shares a
sandbox's network and, unlike the sandbox, may change it. Packets to a rejected network fail at once with "no route to
host"; a kept address on the local link is reached although a network that holds it is rejected.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import fcntl
import ipaddress
import socket
import struct

_ADD_ROUTE = 0x890B  # SIOCADDRT
_UP, _HOST, _REJECT = 0x1, 0x4, 0x200


def reject(network: ipaddress.IPv4Network) -> None:
    """Makes everything in a network unreachable, whatever other routes say that are not narrower."""
    with contextlib.suppress(FileExistsError):
        _add(network, _UP | _REJECT | (_HOST if network.prefixlen == network.max_prefixlen else 0), None)


def keep(address: ipaddress.IPv4Address, device: str) -> None:
    """Reaches one address directly through a device."""
    with contextlib.suppress(FileExistsError):
        _add(ipaddress.IPv4Network(address), _UP | _HOST, device)


def device_of(address: ipaddress.IPv4Address) -> str:
    """The device whose network holds an address.

    Raises:
        ValueError: None does.
    """
    with open("/proc/net/route", encoding="ascii") as table:  # noqa: PTH123 - one file, no further import
        for line in list(table)[1:]:
            device, to, gateway, flags, *_, mask, _, _, _ = line.split()
            network, bits = (int.from_bytes(bytes.fromhex(field), "little") for field in (to, mask))
            if bits and int(gateway, 16) == 0 and not int(flags, 16) & _REJECT and int(address) & bits == network:
                return device
    raise ValueError(f"{address} lies in no network of a device here")


def _add(network: ipaddress.IPv4Network, flags: int, device: str | None) -> None:
    name = ctypes.create_string_buffer(device.encode()) if device else None
    request = struct.pack(
        "L16s16s16sHhLLhLLLH",
        *(0, _socket_address(network.network_address), _socket_address(None), _socket_address(network.netmask)),
        *(flags, 0, 0, 0, 0, ctypes.addressof(name) if name else 0, 0, 0, 0),
    )
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _ADD_ROUTE, request)


def _socket_address(address: ipaddress.IPv4Address | None) -> bytes:
    return struct.pack("HH4s8x", socket.AF_INET, 0, address.packed if address else bytes(4))


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="Closes routes of the network name space it runs in.")
    arguments.add_argument("--reject", nargs="*", default=[], type=ipaddress.IPv4Network, metavar="NETWORK")
    arguments.add_argument("--keep", nargs="*", default=[], type=ipaddress.IPv4Address, metavar="ADDRESS")
    given = arguments.parse_args()
    for kept in given.keep:
        keep(kept, device_of(kept))
    for rejected in given.reject:
        reject(rejected)
