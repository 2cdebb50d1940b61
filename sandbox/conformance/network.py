"""Network: what is promised off is off, each way tried; what is not offered is refused by name."""

from __future__ import annotations

import os
import socket
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from sandbox.conformance.background import put_program
from sandbox.conformance.checks import check, expect, expect_equal, expect_error
from sandbox.conformance.stage import LIMITS
from sandbox.errors import UnsupportedTaskError
from sandbox.protocol import Network

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.conformance.stage import Stage
    from sandbox.protocol import NetworkMode

_METADATA = ("169.254.169.254,80", "169.254.170.2,80", "fd00:ec2::254,80", "metadata.google.internal,80")
_OUTSIDE = ("1.1.1.1,53", "8.8.8.8,53", "2606:4700:4700::1111,53")
_ENGINES = ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock")
_MODES: tuple[NetworkMode, ...] = ("none", "allowlist", "public", "host")


@check(
    "network.none",
    "With network `none` nothing is reached: no DNS, no IPv6, no metadata address, no other host.",
    needs=("networks.none",),
)
async def nothing_is_reached(stage: Stage) -> None:
    """Tries every way out, this machine's listeners first."""
    with _listeners() as listening:
        targets = [*listening, *_METADATA, *_OUTSIDE, "example.org,name", "localhost.localdomain,53"]
        found = await _reached(stage, Network("none"), targets)
    expect_equal(found, [], "what is reached to be", "give it a network name space with a loopback and nothing else")


@check(
    "network.none_interfaces",
    "With network `none` there is no interface but loopback, and that one works.",
    needs=("networks.none",),
)
async def only_loopback(stage: Stage) -> None:
    """Lists interfaces that are up and talks to itself."""
    script = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname()); "
        "s.accept()[0].sendall(b'x'); print(c.recv(1)); "
        "print([n for _, n in socket.if_nameindex() if int(open('/sys/class/net/%s/flags' % n).read(), 16) & 1] "
        "if __import__('os').path.isdir('/sys/class/net') else [n for _, n in socket.if_nameindex()])"
    )
    async with stage.sandbox(network=Network("none")) as sandbox:
        result = await sandbox.exec(["python3", "-c", script], timeout=30)
    expect_equal(
        result.text, "b'x'\n['lo']\n", "loopback and the list of interfaces to be", result.error_text[-300:] or "-"
    )


@check(
    "network.sockets",
    "No socket of this machine is reached: not the Docker engine's, no abstract one.",
    needs=("isolation",),
)
async def sockets_of_the_host(stage: Stage) -> None:
    """Tries the engines' usual places and an abstract socket that really listens."""
    name = f"envolve-conformance-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        engine = os.environ.get("DOCKER_HOST", "").removeprefix("unix://")
        paths = [*_ENGINES, *([engine] if engine.startswith("/") else [])]
        found = await _reached(stage, stage.network, [f"@{name},unix", *(f"{path},unix" for path in paths)])
    expect_equal(
        found, [], "what is reached to be", "share neither mounts nor the network name space with this machine"
    )


@check(
    "network.public", "With network `public` this machine's own loopback is not reached.", needs=("networks.public",)
)
async def public_is_not_host(stage: Stage) -> None:
    """Starts real listeners on the loopback."""
    with _listeners() as listening:
        found = await _reached(stage, Network("public"), [one for one in listening if one.startswith(("127.", "::1"))])
    expect_equal(found, [], "what is reached to be", "give it a network name space of its own")


@check("network.host", "With network `host` this machine's loopback is reached.", needs=("networks.host",))
async def host_is_host(stage: Stage) -> None:
    """Starts a real listener on the loopback."""
    with _listeners() as listening:
        wanted = next(one for one in listening if one.startswith("127."))
        found = await _reached(stage, Network("host"), [wanted])
    expect_equal(found, [f"reached {wanted.replace(',', ' ')}"], "what is reached to be", "share the network")


@check(
    "network.allowlist",
    "With network `allowlist` no way leads around the proxy, and it refuses what is not listed.",
    needs=("networks.allowlist",),
)
async def allowlist_is_closed(stage: Stage) -> None:
    """Tries to connect directly, and asks the proxy for a host that is not listed."""
    ask = (
        "import os, urllib.request, urllib.error\n"
        "print(bool(os.environ.get('HTTP_PROXY')), bool(os.environ.get('HTTPS_PROXY')))\n"
        "opener = urllib.request.build_opener(urllib.request.ProxyHandler({'http': os.environ['HTTP_PROXY']}))\n"
        "try: print(opener.open('http://not-listed.example/', timeout=20).status)\n"
        "except urllib.error.HTTPError as error: print(error.code)\n"
    )
    network = Network("allowlist", ("listed.example",))
    with _listeners() as listening:
        found = await _reached(stage, network, [*listening, *_METADATA, *_OUTSIDE])
    expect_equal(found, [], "what is reached directly to be", "the proxy is the only way out")
    async with stage.sandbox(network=network) as sandbox:
        result = await sandbox.exec(["python3", "-c", ask], timeout=60)
    expect_equal(
        result.text, "True True\n403\n", "proxies set and the answer to be", result.error_text[-300:] or "refuse by 403"
    )


@check("network.refused", "A mode of network that is not offered is refused by its name.")
async def refused_by_name(stage: Stage) -> None:
    """Asks for each that is not offered."""
    for mode in _MODES:
        if mode in stage.capabilities.networks:
            continue
        error = await expect_error(
            _start_and_stop(stage, Network(mode, ("example.org",) if mode == "allowlist" else ())),
            UnsupportedTaskError,
            f"start with network {mode}, which is not offered",
            "never start with another network than the one asked for",
        )
        expect(mode in str(error), f"the message to name {mode}", error, "say which network cannot be had")


async def _reached(stage: Stage, network: Network, targets: list[str]) -> list[str]:
    async with stage.sandbox(network=network) as sandbox:
        program = await put_program(stage, sandbox, "reach")
        result = await sandbox.exec(["python3", program, *targets], timeout=120)
        expect(result.ok, "the program that tries to end well", result, "see exec")
        return result.text.splitlines()


async def _start_and_stop(stage: Stage, network: Network) -> str:
    sandbox = await stage.start(LIMITS, network=network)
    await sandbox.stop()
    return f"a sandbox with {network}"


@contextmanager
def _listeners() -> Iterator[list[str]]:
    """Real listeners of this machine, on its loopback and on all its addresses; where each can be reached."""
    servers = [socket.create_server(("127.0.0.1", 0)), socket.create_server(("0.0.0.0", 0))]  # noqa: S104 - the point
    if Path("/proc/net/if_inet6").exists() and Path("/proc/net/if_inet6").read_text():
        servers.append(socket.create_server(("::1", 0), family=socket.AF_INET6))
    addresses = [a.address for found in psutil.net_if_addrs().values() for a in found if a.family == socket.AF_INET]
    anywhere = servers[1].getsockname()[1]
    own = [f"{server.getsockname()[0]},{server.getsockname()[1]}" for server in servers if server is not servers[1]]
    try:
        yield [*own, *(f"{address},{anywhere}" for address in sorted(set(addresses)))]
    finally:
        for server in servers:
            server.close()
