"""An HTTP(S) forward proxy that reaches listed hosts and nothing else.

One file, standard library only, Python 3.8 or newer: it is also sent into containers that have nothing of this project
(`python3 allowlist.py --listen HOST:PORT --allow HOST …`).

* A host is listed by its name as the client writes it, never by what a name resolves to.
* A listed name that resolves to a loopback, private, link-local, metadata or other special address is refused, unless
  that very address (or a network that holds it) is listed as well. The proxy dials the address it has checked.
* One request per connection: what follows a request is never sent on, so nothing can be smuggled behind it.

It does not look into tunnels: whoever serves a listed host can pass traffic on, and so can a content network that
serves a listed host and, inside the encrypted tunnel, is asked for another.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ipaddress
import re
import signal
import socket
import sys
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable
    from typing import Any

    Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_HEAD_BYTES = 32 * 1024
_PIECE = 64 * 1024
_HTTP, _MOST_PORT = 80, 65535
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LABEL, _NAME_BYTES = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"), 254
_HOP_BY_HOP = frozenset(("connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "upgrade"))
# Metadata services that some versions of Python take for ordinary addresses.
_METADATA = [ipaddress.ip_network(n) for n in ("168.63.129.16/32", "192.0.0.0/24")]
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_SILENT = (OSError, asyncio.TimeoutError)  # one is no kind of the other before Python 3.11


class Refused(Exception):  # noqa: N818 - an answer, not a failure
    """A request that is not carried out: the status and the sentence that the client gets."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Target(NamedTuple):
    """Where a request wants to go."""

    host: str
    port: int

    @property
    def authority(self) -> str:
        """As it stands in a request, without the port that goes without saying."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _HTTP else f"{host}:{self.port}"


class Head(NamedTuple):
    """The head of a request, taken apart: `path` is "" for CONNECT."""

    method: str
    target: Target
    path: str
    version: str
    headers: list[tuple[str, str]]

    def values(self, name: str) -> list[str]:
        """All values of a header."""
        return [value for key, value in self.headers if key.lower() == name]


class Allowlist:
    """The hosts that may be reached.

    Args:
        allowed: Host names, `*.suffix` (every name below it, not itself), IP addresses or networks. All ports.

    Raises:
        ValueError: An entry is none of these.
    """

    def __init__(self, allowed: Iterable[str]) -> None:
        self.entries = tuple(allowed)
        self._names: set[str] = set()
        self._networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
        for entry in self.entries:
            name = entry.strip().lower()
            try:
                self._networks.append(ipaddress.ip_network(name))
            except ValueError:
                star = "*." if name.startswith("*.") else ""
                host = normal_host(name[len(star) :])
                if host is None:
                    raise ValueError(f"{entry!r} is no host name, *.suffix, IP address or network") from None
                self._names.add(star + host)

    def names(self, target: Target) -> bool:
        """Whether the target is listed as it is written."""
        with contextlib.suppress(ValueError):
            return self.holds(ipaddress.ip_address(target.host))
        labels = target.host.split(".")
        patterns = [target.host, *("*." + ".".join(labels[n:]) for n in range(1, len(labels)))]
        return not self._names.isdisjoint(patterns)

    def holds(self, address: Address) -> bool:
        """Whether this very address, or a network that holds it, is listed."""
        return any(address in network for network in self._networks)


class _Pulse:
    """Copies bytes, and notices when none have moved in any direction for `idle` seconds."""

    def __init__(self, idle: float) -> None:
        self._idle = idle
        self._last = asyncio.get_running_loop().time()

    async def copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, length: int | None) -> None:
        """Copies `length` bytes; or (`None`) one direction to its end, and closes only that direction."""
        while length != 0:
            piece = await reader.read(_PIECE if length is None else min(length, _PIECE))
            if not piece and length is not None:
                raise ConnectionError("the body broke off")
            if not piece:
                if writer.can_write_eof():
                    writer.write_eof()
                return
            length = None if length is None else length - len(piece)
            self._last = asyncio.get_running_loop().time()
            writer.write(piece)
            await writer.drain()

    async def watch(self) -> None:
        """Fails once nothing has moved for too long."""
        while (left := self._last + self._idle - asyncio.get_running_loop().time()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(left)
        raise ConnectionError("idle")


class AllowlistProxy:
    """The proxy as an asyncio server.

    Args:
        allowed_hosts: See `Allowlist`.
        patience: Seconds for the head of a request, and for a name and a connection each.
        idle: Seconds without a byte after which a request or a tunnel is given up.
        most: Connections at once; one more gets 503.
        on_refused: Told of each refusal, in one line.
    """

    def __init__(
        self,
        allowed_hosts: Iterable[str],
        *,
        patience: float = 20.0,
        idle: float = 300.0,
        most: int = 512,
        on_refused: Callable[[str], None] | None = None,
    ) -> None:
        self.allowlist = Allowlist(allowed_hosts)
        self._patience = patience
        self._idle = idle
        self._most = most
        self._on_refused = on_refused
        self._tasks: set[asyncio.Task[Any]] = set()

    async def serve(self, listening_socket: socket.socket) -> None:
        """Serves a listening TCP or Unix socket until it is cancelled, then drops what is open and closes it."""
        start = asyncio.start_unix_server if listening_socket.family == socket.AF_UNIX else asyncio.start_server
        server = await start(self._accept, sock=listening_socket, limit=_HEAD_BYTES)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        self._tasks.add(task)
        try:
            await self._answer(reader, writer)
        except Refused as refusal:
            if self._on_refused is not None:
                self._on_refused(f"{refusal.status} {refusal}")
            with contextlib.suppress(*_SILENT):
                await asyncio.wait_for(_say(reader, writer, refusal), self._patience)
        except (*_SILENT, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # either end went away or was silent for too long, or `serve` ends: asyncio would log a cancellation
        finally:
            self._tasks.discard(task)
            _drop(writer)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) > self._most:
            raise Refused(503, f"too many connections: this proxy serves {self._most} at once")
        try:
            raw = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), self._patience)
        except asyncio.LimitOverrunError:
            raise Refused(431, f"the head of the request is larger than {_HEAD_BYTES} bytes") from None
        except _SILENT:
            raise Refused(408, f"no whole request within {self._patience:g} s") from None
        head = parse_head(raw)
        length = body_length(head)
        if not self.allowlist.names(head.target):
            listed = ", ".join(self.allowlist.entries) or "no host"
            raise Refused(403, f"{head.target.host} port {head.target.port} is not allowed here; allowed: {listed}")
        upstream, outgoing = await self._dial(head.target)
        pulse = _Pulse(self._idle)
        try:
            if head.method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                outgoing.write(_forwarded(head))
            there, back = pulse.copy(reader, outgoing, length), pulse.copy(upstream, writer, None)
            await _together(back, there, pulse.watch(), enough=2 if length is None else 1)
        finally:
            _drop(outgoing)

    async def _dial(self, target: Target) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        loop = asyncio.get_running_loop()
        resolving = loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        try:
            found = await asyncio.wait_for(resolving, self._patience)
        except (*_SILENT, UnicodeError):
            raise Refused(502, f"the name {target.host} cannot be resolved") from None
        addresses = [ipaddress.ip_address(str(item[4][0]).partition("%")[0]) for item in found]
        usable = [a for a in addresses if is_public(a) or self.allowlist.holds(a)]
        if not usable:
            where = ", ".join(map(str, addresses))
            raise Refused(403, f"{target.host} is no public address but {where}; list that very address to allow it")
        for address in usable:
            opening = asyncio.open_connection(str(address), target.port, limit=_HEAD_BYTES)
            with contextlib.suppress(*_SILENT):
                return await asyncio.wait_for(opening, self._patience)
        raise Refused(502, f"{target.host} port {target.port} does not accept connections")


def is_public(address: Address) -> bool:
    """Whether an address is an ordinary one of the internet; IPv4 addresses inside of IPv6 ones are looked at, too."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
    return address.is_global and not address.is_multicast and not any(address in network for network in _METADATA)


def parse_head(raw: bytes) -> Head:
    """Takes the head of a request apart, and refuses what two programs could read in two ways.

    Raises:
        Refused: It is no request to a proxy.
    """
    lines = raw[:-4].decode("latin-1").split("\r\n")
    if re.search(r"[\r\n\0]", "".join(lines)):
        raise Refused(400, "a bare line end or a NUL in the head of the request")
    match = re.fullmatch(r"(\S+) (\S+) HTTP/(1\.[01])", lines[0])
    if match is None or not _TOKEN.fullmatch(match[1]) or not match[2].isascii():
        raise Refused(400, "no HTTP/1 request line")
    headers: list[tuple[str, str]] = []
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or not _TOKEN.fullmatch(name):
            raise Refused(400, "a header line without a proper name")
        headers.append((name, value.strip(" \t")))
    target, path = _target(match[1], match[2])
    head = Head(match[1], target, path, match[3], headers)
    hosts = head.values("host")
    if len(hosts) > 1 or (hosts and split_authority(hosts[0], target.port) != target):
        raise Refused(400, f"the Host header names {', '.join(hosts)}, but the request is for {target.authority}")
    return head


def body_length(head: Head) -> int | None:
    """Bytes that follow; `None` for a tunnel, which has no end known beforehand.

    Raises:
        Refused: It cannot be told for certain.
    """
    lengths = head.values("content-length")
    if head.method == "CONNECT":
        return None
    if head.values("transfer-encoding"):
        raise Refused(411, "a body sent through this proxy needs a Content-Length, and no Transfer-Encoding")
    if len(lengths) > 1 or (lengths and not re.fullmatch(r"[0-9]{1,18}", lengths[0])):
        raise Refused(400, "Content-Length is not one number")
    return int(lengths[0]) if lengths else 0


def split_authority(text: str, default: int) -> Target | None:
    """Reads `host`, `host:port` or `[IPv6]:port`; `None` where it is none of these."""
    match = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/?#@%\s]+)(?::([0-9]{1,5}))?", text)
    if match is None:
        return None
    host = normal_host(match[1])
    port = int(match[2] or default)
    return Target(host, port) if host is not None and 0 < port <= _MOST_PORT else None


def normal_host(text: str) -> str | None:
    """A host as it is compared: lower case, no dot at the end, IP addresses in their usual form; `None` for no host.

    Numbers that a resolver would take for an address (`127.1`, `0x7f000001`) are no host.
    """
    if text.startswith("["):
        text = text[1:-1]
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        name = text.lower()[: -1 if text.endswith(".") else None]
    labels = name.split(".")
    numeric = re.fullmatch(r"0x[0-9a-f]*|[0-9]+", labels[-1])
    return name if len(name) < _NAME_BYTES and all(map(_LABEL.fullmatch, labels)) and not numeric else None


def _target(method: str, text: str) -> tuple[Target, str]:
    if method == "CONNECT":
        target, path = split_authority(text, 0), ""
    else:
        match = re.fullmatch(r"(?i:http)://([^/?#]*)([^#]*)", text)
        if match is None:
            raise Refused(400, "this is a proxy: ask for http://HOST/PATH, or CONNECT HOST:PORT for anything else")
        target, path = split_authority(match[1], _HTTP), match[2] if match[2].startswith("/") else "/" + match[2]
    if target is None:
        raise Refused(400, f"{text!r} names no HOST or HOST:PORT")
    return target, path


def _forwarded(head: Head) -> bytes:
    named = {name.strip().lower() for value in head.values("connection") for name in value.split(",")}
    dropped = _HOP_BY_HOP | (named - {"host", "content-length", "transfer-encoding"}) | {"host"}
    lines = [f"{head.method} {head.path} HTTP/{head.version}", f"Host: {head.target.authority}"]
    lines += [f"{name}: {value}" for name, value in head.headers if name.lower() not in dropped]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1")


async def _say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, refusal: Refused) -> None:
    body = f"{refusal}\n".encode("utf-8", "replace")
    head = f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}\r\nContent-Type: text/plain\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
    # Closing over unread bytes would reset the connection and take the sentence with it: read on for a while.
    for _ in range(64):
        if not await asyncio.wait_for(reader.read(_PIECE), 1.0):
            break


def _drop(writer: asyncio.StreamWriter) -> None:
    """Closes what can still be sent in a minute, and no longer."""
    writer.close()
    asyncio.get_running_loop().call_later(60.0, writer.transport.abort)


async def _together(*directions: Coroutine[Any, Any, None], enough: int) -> None:
    """Runs all until the first `enough` of them are done; one that fails ends the others."""
    tasks = [asyncio.ensure_future(direction) for direction in directions]
    try:
        while not all(task.done() for task in tasks[:enough]):
            done, _ = await asyncio.wait([t for t in tasks if not t.done()], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _main(listen: str, allowed: list[str]) -> None:
    host, _, port = listen.rpartition(":")
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((host.strip("[]"), int(port)))
    listening.listen(256)
    proxy = AllowlistProxy(allowed, on_refused=lambda line: print(line[:500], file=sys.stderr, flush=True))  # noqa: T201
    serving = asyncio.ensure_future(proxy.serve(listening))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
    print(f"listening on {host}:{listening.getsockname()[1]}", flush=True)  # noqa: T201 - a door of its own
    with contextlib.suppress(asyncio.CancelledError):
        await serving


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="An HTTP(S) proxy that reaches listed hosts and nothing else.")
    arguments.add_argument("--listen", required=True, metavar="HOST:PORT")
    arguments.add_argument("--allow", nargs="*", default=[], metavar="HOST")
    given = arguments.parse_args()
    asyncio.run(_main(given.listen, given.allow))
