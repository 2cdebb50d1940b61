"""Run in a sandbox with the public network: what answers at each address, by each way that a process has."""

import json
import socket
import struct
import sys
import time
import urllib.request
from pathlib import Path

PORT, DATAGRAMS, OWN, OWN6 = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]

WAIT = 1.0


def get(url):
    return urllib.request.urlopen(url, timeout=WAIT).read().decode()


def bound(host):
    """Past the routes: the device is named."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.settimeout(WAIT)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
        connection.connect((host, PORT))
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return connection.makefile().read().partition("\n\n")[2]


def frame(host):
    """Past the kernel: a datagram as bytes on the wire, to the gateway's own hardware address."""
    text = f"frame to {host}".encode()
    udp = struct.pack("!HHHH", 4000, DATAGRAMS, 8 + len(text), 0) + text
    if ":" in host:
        kind, source = 0x86DD, socket.inet_pton(socket.AF_INET6, "fdea:d5b0:9c2a:1::2")
        goal = socket.inet_pton(socket.AF_INET6, host)
        udp = udp[:6] + struct.pack("!H", checksum(source + goal + struct.pack("!II", len(udp), 17) + udp)) + udp[8:]
        packet = struct.pack("!IHBB", 6 << 28, len(udp), 17, 64) + source + goal + udp
    else:
        kind, head = 0x0800, struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0)
        head += socket.inet_aton("198.18.233.2") + socket.inet_aton(host)
        packet = head[:10] + struct.pack("!H", checksum(head)) + head[12:] + udp
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(kind)) as wire:
        wire.sendto(packet, ("eth0", kind, 0, 0, gateway_hardware()))
    return "sent"


def checksum(data):
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def gateway_hardware():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.sendto(b"who has", ("198.18.233.1", 9))
    time.sleep(0.01)
    rows = [line.split() for line in Path("/proc/net/arp").read_text().splitlines()]
    return bytes.fromhex(next(row[3] for row in rows if row[0] == "198.18.233.1").replace(":", ""))


def processes():
    return sorted({path.read_text().strip() for path in Path("/proc").glob("[0-9]*/comm")})


INTERNET = ("198.51.100.9", "2001:db8:7::9")
CLOSED = (
    "169.254.169.254",
    "169.254.170.2",
    "127.0.0.1",
    OWN,
    "fd00:ec2::254",
    "::1",
    "::ffff:127.0.0.1",
    "::127.0.0.1",
    OWN6,
)
ATTEMPTS = {
    "a name": lambda: get(f"http://a.example:{PORT}/"),
    "processes": processes,
    **{
        f"get {host}": lambda host=host: get(f"http://{f'[{host}]' if ':' in host else host}:{PORT}/")
        for host in INTERNET + CLOSED
    },
    **{f"bound {host}": lambda host=host: bound(host) for host in INTERNET + CLOSED},
    **{f"frame {host}": lambda host=host: frame(host) for host in INTERNET + CLOSED},
}
met = {}
for what, attempt in ATTEMPTS.items():
    try:
        met[what] = attempt()
    except OSError as error:
        met[what] = f"refused: {error}"
sys.stdout.write(json.dumps(met))
