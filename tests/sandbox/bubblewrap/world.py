"""A small internet, for tests: `unshare --net --mount python world.py STATE RESOLVER` is a machine in it.

Another name space answers for every address there is, the metadata service's too: DNS, HTTP, and it counts datagrams.
The machine has services of its own on all its addresses, and runs sandboxes. What they meet is printed as JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import threading
from pathlib import Path

import psutil

from sandbox.bubblewrap.backend import BubblewrapBackend
from sandbox.protocol import Network

PORT, DATAGRAMS, RESOLVER = 8000, 8001, "198.51.100.53"
EVERYWHERE: dict[int, str] = {socket.AF_INET: "0.0.0.0", socket.AF_INET6: "::"}  # noqa: S104 - all addresses
PROBE = Path(__file__).with_name("probe.py")
LINKS = """
ip link set lo up
ip link add outside0 type veth peer name wire0 netns {internet}
ip addr add 203.0.113.2/24 dev outside0
ip -6 addr add 2001:db8:1::2/64 dev outside0 nodad
ip link set outside0 up
nsenter -t {internet} -n ip link set lo up
nsenter -t {internet} -n ip link set wire0 up
nsenter -t {internet} -n ip addr add 203.0.113.1/24 dev wire0
nsenter -t {internet} -n ip -6 addr add 2001:db8:1::1/64 dev wire0 nodad
nsenter -t {internet} -n ip route add local 0.0.0.0/1 dev lo table main
nsenter -t {internet} -n ip route add local 128.0.0.0/1 dev lo table main
nsenter -t {internet} -n ip -6 route add local ::/1 dev lo table main
nsenter -t {internet} -n ip -6 route add local 8000::/1 dev lo table main
ip route add default via 203.0.113.1
ip -6 route add default via 2001:db8:1::1
"""


def serve(says: bytes, visits: list[str], families: dict[int, str]) -> None:
    """Answers HTTP on all addresses, and notes datagrams."""
    for family, every in families.items():
        tcp = socket.create_server((every, PORT), family=family)
        udp = socket.socket(family, socket.SOCK_DGRAM)
        if family == socket.AF_INET6:
            udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        udp.bind((every, DATAGRAMS))
        threading.Thread(target=_http, args=(tcp, says, visits), daemon=True).start()
        threading.Thread(target=_note, args=(udp, visits), daemon=True).start()


def _http(listening: socket.socket, says: bytes, visits: list[str]) -> None:
    while True:
        visitor, _ = listening.accept()
        visits.append("tcp")
        visitor.recv(1 << 16)
        visitor.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + says)
        visitor.close()


def _note(listening: socket.socket, visits: list[str]) -> None:
    while True:
        visits.append(listening.recv(1 << 16).decode())


def names(address: str) -> None:
    """Every name has one address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind((address, 53))
        while True:
            query, visitor = listening.recvfrom(1 << 12)
            question = query[12 : query.index(b"\0", 12) + 5]
            found = question[-4:-2] == b"\0\1"
            record = b"\xc0\x0c\0\1\0\1\0\0\0\x0a\0\4" + socket.inet_aton("198.51.100.7")
            head = query[:2] + b"\x81\x80\0\1" + (b"\0\1" if found else b"\0\0") + bytes(4)
            listening.sendto(head + question + (record if found else b""), visitor)


def be_the_internet() -> None:
    """Serves until told to say who came, then ends."""
    visits: list[str] = []
    sys.stdin.readline()
    serve(b"the internet", visits, EVERYWHERE)
    threading.Thread(target=names, args=(RESOLVER,), daemon=True).start()
    tell("ready")
    sys.stdin.readline()
    tell(json.dumps(visits))


def tell(line: str) -> None:
    """Tells the one who started this process."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def pastas() -> int:
    """How many `pasta` processes descend from this one."""
    count = 0
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it ended meanwhile
            count += any(word.endswith("/pasta") for word in child.cmdline())
    return count


async def be_a_machine(state: Path) -> dict[str, object]:
    """Runs sandboxes; what they met."""
    visits: list[str] = []
    serve(b"this machine", visits, EVERYWHERE)
    backend = BubblewrapBackend(base=("*=host",), state=state)
    try:
        networks = (await backend.capabilities()).networks
        refusal = "" if "public" in networks else str(await _refused(backend))
        if refusal:
            return {"refusal": refusal}
        image = await backend.host_image()
        before = pastas()
        one, two = [await backend.start(image, network=Network("public")) for _ in range(2)]
        during = pastas()
        await one.upload(PROBE, "/probe.py")
        command = ["python3", "/probe.py", str(PORT), str(DATAGRAMS), "203.0.113.2", "2001:db8:1::2"]
        probed = await one.exec(command, timeout=120)
        assert probed.ok, probed
        await one.stop()
        url = f"http://b.example:{PORT}/"
        other = await two.exec(
            ["python3", "-c", f"import urllib.request as u; print(u.urlopen({url!r}, timeout=5).read())"]
        )
        await two.stop()
        return {
            "met": json.loads(probed.text),
            "other": other.text,
            "machine": visits,
            "pastas": [before, during, pastas()],
        }
    finally:
        await backend.close()


async def _refused(backend: BubblewrapBackend) -> Exception:
    try:
        await backend.start(await backend.host_image(), network=Network("public"))
    except Exception as error:  # noqa: BLE001 - told to the test as it is
        return error
    raise AssertionError("started")


def main() -> None:
    """Lays the wires and prints what came of it."""
    internet = subprocess.Popen(
        ["unshare", "--net", sys.executable, __file__, "internet"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert internet.stdin is not None
    assert internet.stdout is not None
    here = Path("/proc/self/ns/net").readlink()
    while Path(f"/proc/{internet.pid}/ns/net").readlink() == here:
        pass
    for line in LINKS.format(internet=internet.pid).strip().splitlines():
        subprocess.run(line.split(), check=True)
    print("go", file=internet.stdin, flush=True)
    internet.stdout.readline()
    state, resolver = Path(sys.argv[1]), sys.argv[2]
    if resolver != RESOLVER:
        threading.Thread(target=names, args=(resolver,), daemon=True).start()
    state.mkdir()
    (state / "resolv.conf").write_text(f"nameserver {resolver}\noptions timeout:1 attempts:2\n")
    subprocess.run(["mount", "--bind", state / "resolv.conf", "/etc/resolv.conf"], check=True)
    told = asyncio.run(be_a_machine(state))
    rest, _ = internet.communicate("tell\n", timeout=30)
    tell(json.dumps(told | {"internet": json.loads(rest)}))


if __name__ == "__main__":
    be_the_internet() if sys.argv[1] == "internet" else main()
