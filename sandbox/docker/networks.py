"""The networks of Docker sandboxes: none, the internet without this machine, or listed hosts through a proxy.

* `none`: Docker's own mode of that name: a loopback and nothing else.
* `public`: one bridge of ours for all, on which sandboxes cannot reach each other. The link-local network (where clouds
  keep their metadata services) and this machine's own addresses are closed in each sandbox once it has started. What
  the engine cannot do: know the addresses that a remote engine's machine has on other links, or those that this one
  gets later; or close anything before a container's own first process (of a compose service) has started. Private
  networks that this machine can reach stay reachable.
* `allowlist`: one internal bridge per list of hosts, on which this machine has no address, and on it one proxy. In each
  sandbox all is closed but the proxy. Docker's name server runs, but asks nobody outside.
* `host`: this machine's network.

Bridges are few (about 30 exhaust an engine's addresses): at most so many of ours live at once, lists of hosts share
theirs, and whoever comes when all are in use waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, TypeVar, cast

from sandbox.docker.bridges import EVERYTHING, Bridge, Bridges, closed_servers
from sandbox.docker.proxies import PORT, PROXY_IMAGE, Proxies
from sandbox.errors import SandboxError, UnsupportedTaskError
from sandbox.network.allowlist import Allowlist

if TYPE_CHECKING:
    import docker

    from sandbox.protocol import Network, Stale

T = TypeVar("T")

MOST_NETWORKS = 8
_PATIENCE = 1800.0
_LOG = logging.getLogger(__name__)


async def _nothing() -> None:
    pass


async def _no_guard(_container: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Joined:
    """A sandbox's place in a network.

    Attributes:
        create: Arguments by name for `containers.create`.
        env: Variables that commands in the sandbox need to reach what they may.
        settle: Closes what the container must not reach. To be awaited with the container's id when it has started and
            before a command of the task runs in it.
        leave: Gives the place up; `release` calls it.
    """

    create: Mapping[str, object]
    env: Mapping[str, str] = field(default_factory=dict)
    settle: Callable[[str], Awaitable[None]] = _no_guard
    leave: Callable[[], Awaitable[None]] = _nothing

    async def release(self) -> None:
        """Gives the place up, once the container is gone. Safe to call twice."""
        await self.leave()


class Networks:
    """The networks that this process makes.

    Args:
        client: The engine.
        labels: What every network and proxy is labelled with, so that a sweep finds it; `envolve.kind` is set here.
        most: Bridges of ours that may live at once, beside the one for `public`.
        proxy_image: An image with `python3`, for the proxies.
        egress: The network by which proxies reach the world; ours for `public` when left out.
        public_dns: Name servers of `public` sandboxes. Needed where this machine's own is at an address that is closed
            to them, as in clouds that answer names and metadata at one address.
        patience: Seconds to wait for a bridge while all are in use.
    """

    def __init__(
        self,
        client: docker.DockerClient,
        labels: Mapping[str, str],
        *,
        most: int = MOST_NETWORKS,
        proxy_image: str = PROXY_IMAGE,
        egress: str | None = None,
        public_dns: Sequence[str] = (),
        patience: float = _PATIENCE,
    ) -> None:
        self._bridges = Bridges(client, labels)
        self._proxies = Proxies(client, labels, proxy_image)
        self._egress = egress
        self._public_dns = tuple(public_dns)
        self._patience = patience
        self._most = most
        self._public: Bridge | None = None
        self._shared: dict[tuple[str, ...], Bridge] = {}
        self._exclusive = 0
        self._changed = asyncio.Condition()
        self._publishing = asyncio.Lock()

    async def join(self, network: Network, sandbox: str) -> Joined:
        """Gives one container a place in a network; waits while all bridges are in use.

        Args:
            network: What it may reach.
            sandbox: The sandbox's id, for the record.

        Raises:
            UnsupportedTaskError: The network needs a proxy, and there is no image for it; or an allowed host is none.
            SandboxError: The engine could not make the network, or none of ours became free in time.
        """
        _LOG.debug("%s joins the network %s", sandbox, network.mode)
        if network.mode in ("none", "host"):
            return Joined({"network_mode": network.mode})
        if network.mode == "public":
            return Joined(_place(await self._world()), settle=self._guard_public)
        hosts = _listed(network)
        await self._proxies.need_image()
        bridge = await self._take(hosts)

        async def guard(container: str) -> None:
            closed = (*EVERYTHING, *bridge.halves)
            await self._proxies.guard(container, closed, (bridge.proxy_address,), must=True)

        return Joined(_place(bridge), _proxy_env(bridge), guard, _Once(lambda: self._give_back(bridge)))

    async def project(self, network: Network, project: str) -> Joined:
        """Gives the containers of one compose project a bridge of their own; waits while all bridges are in use.

        Each container is made with `create` and settled; they reach each other whatever the network.

        Args:
            network: What they may reach beside each other; not `host`.
            project: Its name, for the record.

        Raises:
            UnsupportedTaskError: The network needs a proxy, and there is no image for it; or an allowed host is none.
            SandboxError: The engine could not make the network, or none of ours became free in time.
        """
        _LOG.debug("%s joins the network %s", project, network.mode)
        hosts = _listed(network)
        if network.mode == "allowlist":
            await self._proxies.need_image()
        async with self._changed:
            await self._room()
            self._exclusive += 1
        opened: list[Bridge] = []
        try:
            await _to_the_end(self._open_project(network, hosts, opened))
        except BaseException:
            await self._leave_project(*opened)
            raise
        bridge = opened[0]
        env = _proxy_env(bridge) if network.mode == "allowlist" else {}
        settle = self._guard_public if network.mode == "public" else _no_guard
        return Joined(_place(bridge), env, settle, _Once(lambda: self._leave_project(bridge)))

    async def stale(self) -> tuple[Stale, ...]:
        """What dead processes left behind."""
        return await self._bridges.stale()

    async def sweep(self) -> int:
        """Removes what `stale` lists, and returns how many that were; sweep dead sandboxes first."""
        return await self._bridges.sweep()

    async def close(self) -> None:
        """Removes all networks and proxies that this object made and that nobody uses any more."""
        async with self._changed:
            for hosts, bridge in list(self._shared.items()):
                if bridge.users == 0:
                    del self._shared[hosts]
                    await self._bridges.remove(bridge)
            if self._public is not None:
                await self._bridges.remove(self._public)
                self._public = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def _world(self) -> Bridge:
        async with self._publishing:
            if self._public is None:
                await _to_the_end(self._open_public())
        return cast("Bridge", self._public)

    async def _open_public(self) -> None:
        bridge = await self._bridges.open(public=True)
        bridge.dns = self._public_dns
        closed = await self._bridges.closed_to_public()
        if not self._public_dns and (servers := closed_servers(closed)):
            _LOG.warning(
                "names will not resolve in public sandboxes: this machine's name server %s is at an address that they "
                "must not reach; name others with the option public_dns",
                ", ".join(servers),
            )
        self._public = bridge

    async def _guard_public(self, container: str) -> None:
        await self._proxies.guard(container, await self._bridges.closed_to_public(), must=False)

    async def _take(self, hosts: tuple[str, ...]) -> Bridge:
        async with self._changed:
            await self._drop_dead(hosts)
            if hosts not in self._shared:
                await self._room(hosts)
            if hosts not in self._shared:
                await _to_the_end(self._open_shared(hosts))
            bridge = self._shared[hosts]
            bridge.users += 1
            return bridge

    async def _drop_dead(self, hosts: tuple[str, ...]) -> None:
        """Forgets the bridge for `hosts` if its proxy has died.

        Raises:
            SandboxError: Others are still on it.
        """
        bridge = self._shared.get(hosts)
        if bridge is None or await self._proxies.is_alive(bridge.proxy):
            return
        if bridge.users:
            raise SandboxError(f"the proxy for {', '.join(hosts)} has died; stop the sandboxes that use it first")
        del self._shared[hosts]
        await _to_the_end(self._bridges.remove(bridge))

    async def _room(self, hosts: tuple[str, ...] | None = None) -> None:
        """Waits, with the lock held, until one more bridge may be made (or the one for `hosts` is there)."""
        try:
            async with asyncio.timeout(self._patience):
                while hosts not in self._shared and len(self._shared) + self._exclusive >= self._most:
                    idle = next((key for key, bridge in self._shared.items() if bridge.users == 0), None)
                    if idle is None:
                        await self._changed.wait()
                    else:
                        await _to_the_end(self._bridges.remove(self._shared.pop(idle)))
        except TimeoutError:
            raise SandboxError(
                f"all {self._most} networks stayed in use for {self._patience:g} s: run fewer sandboxes of compose "
                "tasks or of different allow-lists at once"
            ) from None

    async def _open_shared(self, hosts: tuple[str, ...]) -> None:
        bridge = await self._bridges.open(public=False)
        await self._add_proxy(bridge, hosts)
        self._shared[hosts] = bridge

    async def _open_project(self, network: Network, hosts: Iterable[str], opened: list[Bridge]) -> None:
        bridge = await self._bridges.open(public=network.mode == "public", project=True)
        if network.mode == "allowlist":
            await self._add_proxy(bridge, hosts)
        opened.append(bridge)

    async def _add_proxy(self, bridge: Bridge, hosts: Iterable[str]) -> None:
        try:
            egress = self._egress or (await self._world()).name
            bridge.proxy, bridge.proxy_address = await self._proxies.start(bridge.name, egress, hosts)
        except BaseException:
            await self._bridges.remove(bridge)
            raise

    async def _give_back(self, bridge: Bridge) -> None:
        async with self._changed:
            bridge.users -= 1
            self._changed.notify_all()

    async def _leave_project(self, *bridges: Bridge) -> None:
        try:
            for bridge in bridges:
                await self._bridges.remove(bridge)
        finally:
            async with self._changed:
                self._exclusive -= 1
                self._changed.notify_all()


class _Once:
    """Runs something the first time it is asked to, and not again."""

    def __init__(self, action: Callable[[], Awaitable[None]]) -> None:
        self._action: Callable[[], Awaitable[None]] | None = action

    async def __call__(self) -> None:
        action, self._action = self._action, None
        if action is not None:
            await _to_the_end(action())


def _listed(network: Network) -> tuple[str, ...]:
    hosts = tuple(sorted({host.strip().lower() for host in network.allowed_hosts}))
    try:
        Allowlist(hosts)
    except ValueError as error:
        raise UnsupportedTaskError(f"the network's allowed_hosts: {error}") from error
    return hosts


def _place(bridge: Bridge) -> dict[str, object]:
    place: dict[str, object] = {"network": bridge.name}
    if bridge.dns:
        place["dns"] = list(bridge.dns)
    if bridge.internal:  # nobody answers for names there: one that does not exist should not cost ten seconds
        place["dns_opt"] = ["timeout:1", "attempts:1"]
    return place


def _proxy_env(bridge: Bridge) -> dict[str, str]:
    url = f"http://{bridge.proxy_address}:{PORT}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
    nearby = {"NO_PROXY": "localhost,127.0.0.1,::1", "no_proxy": "localhost,127.0.0.1,::1"}
    return dict.fromkeys(names, url) | nearby


async def _to_the_end(work: Awaitable[T]) -> T:
    """Awaits something that must not be left half done; a cancellation comes after it."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with contextlib.suppress(SandboxError):
            await task
        raise
