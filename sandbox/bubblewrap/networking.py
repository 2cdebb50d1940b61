"""The networks of a back end's sandboxes, seen from this process: which there are, and each sandbox's way out."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sandbox.bubblewrap import pasta
from sandbox.errors import UnsupportedTaskError
from sandbox.network.allowlist import AllowlistProxy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from sandbox.bubblewrap.client import Launcher
    from sandbox.protocol import Network, NetworkMode

PROXY_PORT = 3128
_NEARBY = "localhost,127.0.0.1,::1"
_PROXY_NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
_ALWAYS: frozenset[NetworkMode] = frozenset({"none", "allowlist", "host"})


class Access(Protocol):
    """A sandbox's way out."""

    @property
    def env(self) -> Mapping[str, str]:
        """Variables that tell commands of it."""
        ...

    async def close(self) -> None:
        """Ends it; safe to call twice."""
        ...


class ProxyAccess:
    """Listed hosts, by a proxy in this process that listens on the sandbox's own loopback.

    Args:
        proxy: The proxy.
        listening: A listening socket of the sandbox's network name space; closed by `close`.
    """

    env: Mapping[str, str] = {
        **dict.fromkeys(_PROXY_NAMES, f"http://127.0.0.1:{PROXY_PORT}"),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), _NEARBY),
    }

    def __init__(self, proxy: AllowlistProxy, listening: socket.socket) -> None:
        self._listening = listening
        self._serving = asyncio.create_task(proxy.serve(listening))

    async def close(self) -> None:
        """See `Access.close`: ends all that goes through the proxy, too."""
        self._serving.cancel()
        await asyncio.gather(self._serving, return_exceptions=True)
        self._listening.close()  # a proxy that was cancelled before its first step has not taken it


class Networks:
    """The networks that sandboxes of one back end can have.

    Args:
        launcher: Does what must be done inside.
        new_userns: Makes a user name space as sandboxes have one.
        folder: Where a file for sandboxes can be kept.
    """

    def __init__(self, launcher: Launcher, new_userns: Callable[[], Awaitable[int]], folder: Path) -> None:
        self._launcher = launcher
        self._pasta = pasta.Pasta(launcher, new_userns)
        self._folder = folder
        self._written: dict[str, Path] = {}

    async def modes(self) -> frozenset[NetworkMode]:
        """Those that work on this machine."""
        return _ALWAYS if await self._pasta.refusal() else _ALWAYS | {"public"}

    async def check(self, network: Network) -> None:
        """Finds out whether a sandbox can have a network.

        Raises:
            UnsupportedTaskError: It can't; says what to do.
        """
        if network.mode == "public" and (refusal := await self._pasta.refusal()):
            raise UnsupportedTaskError(f"network 'public': {refusal}")
        if network.mode == "allowlist":
            _proxy(network)

    def resolv_conf(self, network: Network) -> Path | None:
        """The file that is to be a sandbox's `/etc/resolv.conf`; `None` leaves its image's own."""
        if network.mode == "host":
            return Path("/etc/resolv.conf")
        if network.mode != "public":
            return None
        text = pasta.resolv_conf(own=pasta.outside().own)
        if text not in self._written:  # a file never changes: a sandbox that is starting may be about to mount it
            path = self._folder / f"resolv-{len(self._written)}.conf"
            path.write_text(text)
            self._written[text] = path
        return self._written[text]

    async def open(self, network: Network, init: int) -> Access | None:
        """Makes the way out of a sandbox whose first process is `init`, before its first command.

        Raises:
            SandboxError: It can't be made, or the sandbox is gone.
        """
        if network.mode == "public":
            return await self._pasta.open(init)
        if network.mode != "allowlist":
            return None
        (descriptor,) = await self._launcher.call("listen", {"init": init}, port=PROXY_PORT)
        os.set_inheritable(descriptor, False)
        return ProxyAccess(_proxy(network), socket.socket(fileno=descriptor))


def _proxy(network: Network) -> AllowlistProxy:
    try:
        return AllowlistProxy(network.allowed_hosts)
    except ValueError as error:
        raise UnsupportedTaskError(f"network 'allowlist': the network's allowed_hosts: {error}") from error
