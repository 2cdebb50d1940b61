"""Bridge networks of this project in an engine: made, removed, and found again by their labels."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from docker.errors import APIError, NotFound
from docker.models.containers import Container

from sandbox.docker.engine import call_engine, engine_errors, said
from sandbox.docker.labels import KIND, is_dead
from sandbox.errors import SandboxError
from sandbox.protocol import Stale

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import docker
    from docker.models.networks import Network

EVERYTHING = ("0.0.0.0/1", "128.0.0.0/1")
"""All of IPv4 in two halves: narrower than a default route, wider than any other."""

_LINK_LOCAL = "169.254.0.0/16"
_NO_ADDRESS = {"com.docker.network.bridge.inhibit_ipv4": "true"}  # this machine has no address on the bridge
_NO_NEIGHBOURS = {"com.docker.network.bridge.enable_icc": "false"}
# Docker's own name server asks this machine's, even for containers of an internal network, unless told another one:
# that one it asks from inside the container, where nobody listens.
_NOBODY = ("127.0.0.1",)


@dataclass(slots=True)
class Bridge:
    """A bridge network.

    Attributes:
        id: The engine's id of it.
        name: Its name.
        subnet: Its addresses.
        internal: Whether it leads nowhere.
        dns: Name servers for its containers; the machine's where empty.
        users: Sandboxes that share it.
        proxy: Id of the container that is its proxy, or "".
        proxy_address: That container's address on it.
    """

    id: str
    name: str
    subnet: str
    internal: bool
    dns: tuple[str, ...] = ()
    users: int = 0
    proxy: str = ""
    proxy_address: str = ""

    @property
    def halves(self) -> tuple[str, ...]:
        """Its addresses as two networks: narrower than its own route."""
        return tuple(str(half) for half in ipaddress.ip_network(self.subnet).subnets())


class Bridges:
    """Makes and removes bridges.

    Args:
        client: The engine.
        labels: Labels of all that is made here, beside the kind.
    """

    def __init__(self, client: docker.DockerClient, labels: Mapping[str, str]) -> None:
        self._client = client
        self._labels = dict(labels)

    async def open(self, *, public: bool, project: bool = False) -> Bridge:
        """Makes one.

        Args:
            public: Whether it leads to the outside.
            project: Whether the containers on it may reach each other.

        Raises:
            SandboxError: The engine has no addresses left, or refused.
        """
        return await asyncio.to_thread(call_engine, "making a network", self._open, public, project)

    async def remove(self, bridge: Bridge) -> None:
        """Removes one and its proxy; containers that still hang on it are cut off.

        Raises:
            SandboxError: The engine refused.
        """
        await asyncio.to_thread(call_engine, f"removing the network {bridge.name}", self._remove, bridge)

    async def closed_to_public(self) -> tuple[str, ...]:
        """What sandboxes on a public bridge must not reach: link-local addresses and those of the engine's machine."""
        return await asyncio.to_thread(call_engine, "listing networks", self._closed)

    async def stale(self) -> tuple[Stale, ...]:
        """Networks and proxies of dead processes."""
        found = await asyncio.to_thread(call_engine, "listing networks", lambda: list(self._stale()))
        return tuple(stale for stale, _ in found)

    async def sweep(self) -> int:
        """Removes them; returns how many went."""
        return await asyncio.to_thread(call_engine, "removing stale networks", self._sweep)

    def _open(self, public: bool, project: bool) -> Bridge:
        name = f"envolve-{secrets.token_hex(6)}"
        options = {} if public else _NO_ADDRESS
        if public and not project:
            options = _NO_NEIGHBOURS
        kind = "compose" if project else "proxy"
        try:
            network = self._client.networks.create(
                name, driver="bridge", internal=not public, options=options, labels={**self._labels, KIND: kind}
            )
        except APIError as error:
            if "address pool" not in said(error):
                raise
            raise SandboxError(
                f"making a network: the engine has no addresses left for one more ({said(error)}); remove networks "
                "that nobody uses (`python -m sandbox.clean`, `docker network prune`) or widen default-address-pools"
            ) from error
        network.reload()
        subnet = next(c["Subnet"] for c in network.attrs["IPAM"]["Config"] if ":" not in c["Subnet"])
        return Bridge(str(network.id), name, subnet, not public, () if public else _NOBODY)

    def _remove(self, bridge: Bridge) -> None:
        with contextlib.suppress(NotFound):
            if bridge.proxy:
                self._client.containers.get(bridge.proxy).remove(force=True)
        with contextlib.suppress(NotFound):
            _remove_network(self._client.networks.get(bridge.id))

    def _closed(self) -> tuple[str, ...]:
        found = {_LINK_LOCAL}
        for network in self._client.networks.list():
            for config in (network.attrs.get("IPAM") or {}).get("Config") or ():
                found.update(_host_route(config.get("Gateway", "")))
        if str(self._client.api.base_url).startswith("http+docker://"):  # a Unix socket: the engine runs right here
            for addresses in psutil.net_if_addrs().values():
                for address in addresses:
                    found.update(_host_route(address.address) if address.family == socket.AF_INET else ())
        return tuple(sorted(found))

    def _stale(self) -> Iterator[tuple[Stale, Container | Network]]:
        proxies = {"label": f"{KIND}=proxy"}
        for container in self._client.containers.list(all=True, filters={**proxies}, ignore_removed=True):
            if is_dead(container.labels, running=container.status == "running"):
                yield Stale("container", str(container.name), "a proxy of a process that ended"), container
        for network in self._client.networks.list(filters={"label": KIND}):
            with contextlib.suppress(NotFound):
                network.reload()  # the list does not say who is on it
            if is_dead(network.attrs.get("Labels") or {}, running=bool(network.attrs.get("Containers"))):
                yield Stale("network", str(network.name), "of a process that ended"), network

    def _sweep(self) -> int:
        count = 0
        for _, thing in list(self._stale()):
            with contextlib.suppress(NotFound), engine_errors("removing what a dead process left"):
                if isinstance(thing, Container):
                    thing.remove(force=True)
                else:
                    _remove_network(thing)
                count += 1
        return count


def closed_servers(closed: Iterable[str]) -> tuple[str, ...]:
    """Name servers of this machine that lie in closed networks."""
    try:
        rows = [line.split() for line in Path("/etc/resolv.conf").read_text().splitlines()]
    except OSError:
        return ()
    networks = [ipaddress.ip_network(network) for network in closed]
    servers = [row[1] for row in rows if row[:1] == ["nameserver"] and len(row) > 1 and ":" not in row[1]]
    return tuple(server for server in servers if any(ipaddress.ip_address(server) in net for net in networks))


def _remove_network(network: Network) -> None:
    try:
        network.remove()
    except APIError as error:
        if "active endpoints" not in said(error):
            raise
        network.reload()
        for container in network.attrs.get("Containers") or {}:
            with contextlib.suppress(NotFound):
                network.disconnect(container, force=True)
        network.remove()


def _host_route(address: str) -> tuple[str, ...]:
    """An address as a network of its own; nothing for an IPv6 or a loopback one, or none."""
    try:
        found = ipaddress.IPv4Address(address)
    except ValueError:
        return ()
    return () if found.is_loopback else (f"{found}/32",)
