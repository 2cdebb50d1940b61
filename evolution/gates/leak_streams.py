"""Decompresses what an environment ships: gzip, bzip2, xz and zlib streams, by bounded pieces and to a bound."""

from __future__ import annotations

import bz2
import lzma
import zlib
from dataclasses import dataclass
from typing import Final

MOST_MEMBER_BYTES: Final = 8 * 1024 * 1024
"""Bytes kept of one thing found inside a file."""
MOST_JOINED: Final = 10_000
"""Streams that follow one another in one file."""
MOST_MEMORY: Final = 128 * 1024 * 1024
"""What an xz stream may want for its dictionary; the highest preset of `xz` wants half of it."""
STREAM_MAGIC: Final = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0")

# A decompressor copies what lies behind the end of its stream, so it is never fed the whole rest of a file.
_CHUNK = 16 * 1024
_BROKEN = (zlib.error, lzma.LZMAError, OSError, ValueError, EOFError)


@dataclass(frozen=True, slots=True)
class Inflated:
    """What one compressed stream holds.

    Attributes:
        data: Its bytes; where it is damaged, those before the damage.
        end: Where it ends in the file; where it is damaged, a place before the damage.
        whole: Whether its end was reached: neither damaged, nor cut, nor larger than the bound.
        damaged: Whether it turned out to be none, or to be cut off.
    """

    data: bytes
    end: int
    whole: bool
    damaged: bool = False


def inflated(content: bytes, start: int = 0, most: int = MOST_MEMBER_BYTES) -> Inflated:
    """The stream that begins at a position: gzip, bzip2 or xz by its first bytes, else zlib.

    Args:
        content: The file.
        start: Where in it the stream begins.
        most: Bytes it may unpack to; the rest is left out.
    """
    decoder = _decoder(content[start : start + 6])
    pieces: list[bytes] = []
    at, room = start, most
    with memoryview(content) as view:
        while not decoder.eof and room > 0 and at < len(content):
            chunk = view[at : at + _CHUNK]
            try:
                piece = decoder.decompress(chunk, room)
            except _BROKEN:
                return Inflated(b"".join(pieces), at, whole=False, damaged=True)
            at += len(chunk)
            room -= len(piece)
            pieces.append(piece)
    broken_off = not decoder.eof and room > 0  # the file ends before its stream does: there is no more to read
    return Inflated(b"".join(pieces), at - len(decoder.unused_data), whole=decoder.eof, damaged=broken_off)


def joined(content: bytes, most: int) -> Inflated:
    """All streams that follow one another from the beginning of a file, as the programs that unpack them read it."""
    pieces: list[bytes] = []
    at, room = 0, most
    for _ in range(MOST_JOINED):
        one = inflated(content, at, room)
        if one.damaged:
            return Inflated(b"".join([*pieces, one.data]), one.end if one.data else at, whole=False, damaged=True)
        pieces.append(one.data)
        room -= len(one.data)
        if not one.whole:
            return Inflated(b"".join(pieces), len(content), whole=False)
        at = after_zeros(content, one.end)
        if not content.startswith(STREAM_MAGIC, at):
            return Inflated(b"".join(pieces), at, whole=True)
        if room <= 0:
            break
    return Inflated(b"".join(pieces), at, whole=False)


def after_zeros(content: bytes, start: int) -> int:
    """The position of the first byte that is no padding, from a position on."""
    at = start
    while at < len(content):
        piece = content[at : at + _CHUNK]
        bare = piece.lstrip(b"\0")
        at += len(piece) - len(bare)
        if bare:
            break
    return at


def _decoder(magic: bytes) -> bz2.BZ2Decompressor | lzma.LZMADecompressor | zlib._Decompress:
    if magic.startswith(b"BZh"):
        return bz2.BZ2Decompressor()
    if magic.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMADecompressor(memlimit=MOST_MEMORY)
    return zlib.decompressobj(wbits=31 if magic.startswith(b"\x1f\x8b") else 15)
