"""The public network of a sandbox: the internet by `pasta`, without this machine's own addresses; see `gateway`."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import shutil
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.bubblewrap import gateway
from sandbox.bubblewrap.client import readable
from sandbox.errors import SandboxError, SandboxLostError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from sandbox.bubblewrap.client import Answer, Launcher

_INSTEAD = "or take --network host, knowing that it shares this machine's network with all that listens on it"
# Where clouds have their metadata service, and what a program on this machine would take for its loopback.
_REJECTED = (
    ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16"),
    ("::/96", "::ffff:0:0/96", "64:ff9b::a9fe:0/112", "fd00:ec2::254/128"),
)
_NO_FORWARDING = [word for option in ("-t", "-u", "-T", "-U") for word in (option, "none")]
_PATIENCE = 20.0
_MAX_TEXT = 1 << 14
_RESOLVERS = (Path("/etc/resolv.conf"), Path("/run/systemd/resolve/resolv.conf"))


@dataclass(frozen=True, slots=True)
class Outside:
    """What this machine's network looks like.

    Attributes:
        families: 0 where it has IPv4 to the internet, 1 where it has IPv6.
        own: Its own addresses.
    """

    families: tuple[int, ...]
    own: tuple[str, ...]

    @property
    def rejected(self) -> list[str]:
        """Networks that a sandbox must not reach."""
        own = [f"{address}/{128 if ':' in address else 32}" for address in self.own]
        return [network for network in (*own, *_REJECTED[0]) if ":" not in network] + [
            network for network in (*own, *_REJECTED[1]) if ":" in network and 1 in self.families
        ]


class PastaAccess:
    """A sandbox's way to the internet: a `pasta` process.

    Args:
        process: A process descriptor of it; closed by `close`.
    """

    env: Mapping[str, str] = {}

    def __init__(self, process: int) -> None:
        self._process: int | None = process

    async def close(self) -> None:
        """Kills `pasta` and waits until it is gone; safe to call twice."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, signal.SIGKILL)
        await readable(process)
        os.close(process)


class Pasta:
    """Gives sandboxes the internet.

    Args:
        launcher: Starts `pasta`.
        new_userns: Makes a user name space as sandboxes have one, to try it.
    """

    def __init__(self, launcher: Launcher, new_userns: Callable[[], Awaitable[int]]) -> None:
        self._launcher = launcher
        self._new_userns = new_userns
        self._trying = asyncio.Lock()
        self._refusal: str | None = None

    async def refusal(self) -> str:
        """Why there is no public network here, and what to do; "" when there is one. Tried once."""
        async with self._trying:
            if self._refusal is None:
                self._refusal = await self._try()
        return self._refusal

    async def open(self, init: int) -> PastaAccess:
        """Joins a sandbox whose first process is `init`.

        Raises:
            SandboxError: It does not work; says what `pasta` said.
        """
        return await self._attach({"init": init})

    async def _try(self) -> str:
        if shutil.which("pasta") is None:
            return f"the program pasta is missing: apt install passt, {_INSTEAD}"
        if not outside().families:
            return "this machine has no default route, so it has no internet to share"
        try:
            userns = await self._new_userns()
            try:
                access = await self._attach({"userns": userns})
            finally:
                os.close(userns)
        except SandboxLostError:
            raise
        except SandboxError as error:
            return f"pasta does not work on this machine: {error}. Repair that, {_INSTEAD}"
        await access.close()
        return ""

    async def _attach(self, sandbox: dict[str, int]) -> PastaAccess:
        around = outside()
        complaint, theirs = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            try:
                answer = await self._launcher.post(
                    "attach",
                    {**sandbox, "stderr": theirs},
                    arguments=_arguments(around),
                    families=list(around.families),
                    reject=around.rejected,
                    patience=_PATIENCE,
                )
            finally:
                os.close(theirs)
            return await _attached(answer, complaint)
        finally:
            os.close(complaint)


def outside() -> Outside:
    """Looks at this machine's network."""
    import psutil  # costs time, and most sandboxes have no public network

    families = tuple(number for number, has in enumerate((_has_default_route(), _has_default_route6())) if has)
    addresses = (address for found in psutil.net_if_addrs().values() for address in found)
    own = {a.address.partition("%")[0] for a in addresses if a.family in (socket.AF_INET, socket.AF_INET6)}
    return Outside(families, tuple(sorted(own)))


def resolv_conf(files: Iterable[Path] = _RESOLVERS, own: Iterable[str] = ()) -> str:
    """What `/etc/resolv.conf` of a sandbox says.

    The first file's name servers; where a sandbox can't reach any of these, since they are on this machine, the next
    one's; at last `pasta` itself, which asks for the sandbox.

    Args:
        files: What to go by, best first.
        own: This machine's own addresses.
    """
    rest: list[str] = []
    for file in files:
        try:
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        words = [line.split() for line in lines]
        rest = rest or [" ".join(row) for row in words if row and row[0] in ("search", "domain", "options")]
        servers = [row[1] for row in words if len(row) > 1 and row[0] == "nameserver" and _usable(row[1], own)]
        if servers:
            return "\n".join([*(f"nameserver {server}" for server in servers), *rest, ""])
    return "\n".join([f"nameserver {gateway.PASTA[0]}", *rest, ""])


def _usable(server: str, own: Iterable[str]) -> bool:
    try:
        address = ipaddress.ip_address(server)
    except ValueError:  # with a device behind it: a link-local one
        return False
    return not (address.is_loopback or address.is_link_local or address.is_unspecified) and str(address) not in own


def _arguments(around: Outside) -> list[str]:
    addresses = [word for f in around.families for word in ("-a", gateway.OUTSIDE[f], "-g", gateway.PASTA[f])]
    only = ["-4", "-6"][around.families[0] :][:1] if len(around.families) == 1 else []
    netmask = ["-n", str(gateway.PREFIXES[0])] if 0 in around.families else []
    forward = ["--dns-forward", gateway.PASTA[0]] if gateway.PASTA[0] in resolv_conf(own=around.own) else []
    program = shutil.which("pasta") or "pasta"
    plain = ["-f", "-q", "--no-map-gw", "--netns-only", "--no-dhcp", "--no-dhcpv6", "--no-ra", "-I", gateway.TAP]
    return [program, *plain, *_NO_FORWARDING, *only, *addresses, *netmask, *forward]


async def _attached(answer: Answer, complaint: int) -> PastaAccess:
    """Waits until packets can pass."""
    access: PastaAccess | None = None
    failure = "the process that starts it was killed from outside"
    try:
        while (told := await answer.next()) is not None:
            if "pasta" in told:
                access = PastaAccess(answer.descriptors[0])
            elif "done" in told and access is not None:
                done, access = access, None
                return done
            elif "error" in told:
                failure = str(told["message"])
                if told["error"] == "gone":
                    raise SandboxLostError("the sandbox is gone")
        raise SandboxError(f"{failure}{_said(complaint)}")
    finally:
        answer.close()
        if access is not None:
            await access.close()


def _said(complaint: int) -> str:
    try:
        text = os.read(complaint, _MAX_TEXT).decode("utf-8", "replace")
    except BlockingIOError:
        return ""
    lines = [line.strip() for line in text.splitlines() if line.strip() and "syslog" not in line]
    return f" ({'; '.join(lines)})" if lines else ""


def _has_default_route() -> bool:
    return any(row[1] == row[7] == "00000000" for row in _rows("/proc/net/route") if len(row) > 7)  # noqa: PLR2004


def _has_default_route6() -> bool:
    rows = (row for row in _rows("/proc/net/ipv6_route") if len(row) > 9)  # noqa: PLR2004
    return any(row[0] == "0" * 32 and row[1] == "00" and row[9] != "lo" for row in rows)


def _rows(file: str) -> list[list[str]]:
    try:
        return [line.split() for line in Path(file).read_text(encoding="ascii").splitlines()]
    except OSError:
        return []
