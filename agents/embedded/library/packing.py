"""Archives whose bytes depend on their members alone, never on the clock or on which zlib Python was built with."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
import zlib
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache

_WINDOW = 32768
_SHORTEST = 3
_LONGEST = 258
_STRIDE = 32


@dataclass(frozen=True)
class Member:
    """One file of an archive.

    Attributes:
        path: Its path in the archive.
        content: Its bytes.
        time: Modification time, seconds since the epoch.
        owner: Name of its user.
        mode: Permission bits.
    """

    path: str
    content: bytes
    time: int = 0
    owner: str = "root"
    mode: int = 0o644


@dataclass(frozen=True)
class _Codes:
    """RFC 1951's fixed code (section 3.2.6), each code as (bits in the order in which they are sent, how many).

    Attributes:
        literals: By literal byte; the end of the block is the 257th.
        lengths: By length of a match, from 3 on, extra bits included.
        distances: (first distance, code, extra bits), ascending.
    """

    literals: tuple[tuple[int, int], ...]
    lengths: tuple[tuple[int, int], ...]
    distances: tuple[tuple[int, int, int], ...]


@cache
def _codes() -> _Codes:
    symbols = [_symbol(symbol) for symbol in range(286)]
    lengths: list[tuple[int, int]] = []
    for place, symbol in enumerate(range(257, 285)):
        extra = max(0, place // 4 - 1)
        code, width = symbols[symbol]
        lengths += [(code | step << width, width + extra) for step in range(1 << extra)]
    # The last symbol stands for the longest match alone, without extra bits.
    lengths[_LONGEST - _SHORTEST :] = [symbols[285]]
    distances: list[tuple[int, int, int]] = []
    first = 1
    for place in range(30):
        extra = max(0, place // 2 - 1)
        distances.append((first, _reversed(place, 5), extra))
        first += 1 << extra
    return _Codes(tuple(symbols[:257]), tuple(lengths), tuple(distances))


def _symbol(symbol: int) -> tuple[int, int]:
    for first, last, code, width in ((0, 143, 0x30, 8), (144, 255, 0x190, 9), (256, 279, 0, 7), (280, 287, 0xC0, 8)):
        if first <= symbol <= last:
            return _reversed(code + symbol - first, width), width
    raise ValueError(f"no symbol {symbol} in the fixed code")


def _reversed(code: int, width: int) -> int:
    return int(format(code, f"0{width}b")[::-1], 2)


class _Bits:
    """Collects bits, low one first."""

    def __init__(self) -> None:
        self._done = bytearray()
        self._held = 0
        self._count = 0

    def add(self, value: int, width: int) -> None:
        self._held |= value << self._count
        self._count += width
        while self._count >= 8:  # noqa: PLR2004 - bits of a byte
            self._done.append(self._held & 255)
            self._held >>= 8
            self._count -= 8

    def finish(self) -> bytes:
        if self._count:
            self._done.append(self._held & 255)
        return bytes(self._done)


def _match(data: bytes, start: int, here: int) -> int:
    """How many bytes from `here` on are those from `start` on, at most the longest match."""
    most = min(_LONGEST, len(data) - here)
    length = 0
    while length + _STRIDE <= most and (
        data[start + length : start + length + _STRIDE] == data[here + length : here + length + _STRIDE]
    ):
        length += _STRIDE
    while length < most and data[start + length] == data[here + length]:
        length += 1
    return length


def _deflated(data: bytes) -> bytes:
    """DEFLATE with the fixed code and the last place where the same three bytes stood."""
    codes, bits = _codes(), _Bits()
    bits.add(0b011, 3)  # last block, fixed code
    seen: dict[bytes, int] = {}
    here = 0
    while here < len(data):
        start = seen.get(data[here : here + _SHORTEST], -1)
        length = _match(data, start, here) if 0 <= here - start <= _WINDOW and start >= 0 else 0
        if length >= _SHORTEST:
            bits.add(*codes.lengths[length - _SHORTEST])
            first, code, extra = codes.distances[bisect_right(codes.distances, (here - start, 1 << 15, 0)) - 1]
            bits.add(code, 5)
            bits.add(here - start - first, extra)
        else:
            length = 1
            bits.add(*codes.literals[data[here]])
        # Every place within a long match would cost time and find nothing better.
        for place in range(here, min(here + length, len(data) - 2), 1 if length <= _STRIDE else _STRIDE):
            seen[data[place : place + _SHORTEST]] = place
        here += length
    bits.add(*codes.literals[256])
    return bits.finish()


def gzipped(data: bytes) -> bytes:
    """A gzip file without name or time."""
    header = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    return header + _deflated(data) + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)


def tarred(members: list[Member]) -> bytes:
    """A POSIX (ustar) tar file, members in the order given."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for member in members:
            entry = tarfile.TarInfo(member.path)
            entry.size = len(member.content)
            entry.mtime = member.time
            entry.mode = member.mode
            entry.uname = entry.gname = member.owner
            archive.addfile(entry, io.BytesIO(member.content))
    return target.getvalue()


def zipped(members: list[Member]) -> bytes:
    """A zip file, stored without compression; times are the format's first day."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for member in members:
            entry = zipfile.ZipInfo(member.path, date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system = 3
            entry.external_attr = member.mode << 16
            archive.writestr(entry, member.content)
    return target.getvalue()
