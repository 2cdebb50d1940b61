"""Reads git's own bytes: loose objects and packs, whole or damaged. Bounded, in memory.

Everything that looks into git goes through here: `unpacked` for what any file holds, `git_texts` for repositories.
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evolution.gates.leak_streams import MOST_MEMBER_BYTES, inflated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dulwich.objects import ShaFile

MOST_OBJECTS: Final = 20_000
MOST_PACK: Final = 64 * 1024 * 1024
MOST_INFLATED: Final = 128 * 1024 * 1024
BLOB: Final = 3
BUNDLES: Final = (b"# v2 git bundle", b"# v3 git bundle")
LOOSE: Final = re.compile(r"^(?P<root>.*?)/?objects/(?P<first>[0-9a-f]{2})/(?P<rest>[0-9a-f]{38})$")

_TREE_ENTRY = re.compile(rb"(?:100644|100755|120000|40000) ([^\0/]{1,200})\0")
_KINDS = {b"commit": 1, b"tree": 2, b"blob": BLOB, b"tag": 4}
_OFFSET_DELTA, _NAMED_DELTA = 6, 7
_SHORTEST_PACK = 32
_MOST_SHIFT = 63
_MOST_OFFSET_BYTES = 10
_NAME_BYTES = 20


@dataclass(frozen=True, slots=True)
class Stream:
    """One object of a pack as it lies there; a delta is not put together.

    Attributes:
        start: Where its compressed bytes begin.
        end: Where they end.
        data: What they hold.
    """

    start: int
    end: int
    data: bytes


def loose_body(content: bytes) -> tuple[str, bytes]:
    """Kind and content of a loose object; two empty ones where it is none."""
    data = inflated(content).data
    header, _, body = data.partition(b"\0")
    kind = header.split(b" ")[0]
    return (kind.decode(), body) if kind in _KINDS else ("", b"")


def loose_object(content: bytes) -> ShaFile | None:
    """A loose object; `None` where it is none."""
    from dulwich.errors import FileFormatException
    from dulwich.objects import ShaFile

    kind, body = loose_body(content)
    try:
        return ShaFile.from_raw_string(_KINDS[kind.encode()], body) if kind else None
    except (ValueError, AssertionError, FileFormatException):
        return None


def names_in_tree(data: bytes) -> list[str]:
    """The names a tree gives; what is no tree may hold some, too."""
    return [name.decode("utf-8", "replace").strip('"') for name in _TREE_ENTRY.findall(data)]


def pack_streams(content: bytes) -> Iterator[Stream]:
    """Every compressed object in a file that has a pack in it, one after another; behind damage, the next that is one.

    Args:
        content: The file: a pack, or a bundle.
    """
    pack = content.find(b"PACK")
    position = pack + 12 if pack >= 0 else len(content)
    room = MOST_INFLATED
    while 0 <= position < len(content) and room > 0:
        try:
            _, _, start = _header(content, position)
        except (IndexError, ValueError):
            start = position
        found = inflated(content, start)
        if not found.whole:
            # Damage: from here on, each byte that may begin a stream is tried; nearly all of git's begin with an `x`.
            room -= len(found.data) + max(1, found.end - start)
            start = content.find(b"x", position)
            found = inflated(content, max(0, start))
        room -= len(found.data) + max(1, found.end - start)
        if start < 0:
            return
        if found.whole:
            yield Stream(start, found.end, found.data)
        position = found.end if found.whole else start + 1


def packed_objects(
    content: bytes, others: Mapping[bytes, ShaFile], on_cut: Callable[[], None] = lambda: None
) -> Iterator[ShaFile]:
    """Every object of a pack, those that are deltas put together; nothing of one that is too large.

    Args:
        content: The pack.
        others: Objects that deltas may stand on, by hexadecimal name.
        on_cut: Told where the pack is too large, or is not whole.
    """
    from dulwich.errors import ApplyDeltaError, ChecksumMismatch, ObjectFormatException
    from dulwich.object_format import SHA1
    from dulwich.pack import PackData, PackInflater, UnresolvedDeltas

    if not fits(content):
        on_cut()
        return

    def elsewhere(name: bytes) -> tuple[int, list[bytes]]:
        found = others[name if len(name) == 2 * _NAME_BYTES else name.hex().encode()]
        return found.type_num, found.as_raw_chunks()

    broken = (
        ApplyDeltaError, ChecksumMismatch, ObjectFormatException, UnresolvedDeltas, zlib.error, struct.error,
        AssertionError, EOFError, IndexError, KeyError, OSError, TypeError, ValueError,
    )  # fmt: skip
    try:
        with PackData.from_file(io.BytesIO(content), SHA1, len(content)) as data:
            yield from PackInflater.for_pack_data(data, resolve_ext_ref=elsewhere)
    except broken:
        return  # damaged or cut: what came before has been looked at


def fits(content: bytes) -> bool:
    """Whether a pack is whole and unpacks to no more than the bounds; a delta may still make one object large."""
    if len(content) > MOST_PACK or content[:4] != b"PACK" or len(content) < _SHORTEST_PACK:
        return False
    count = int.from_bytes(content[8:12], "big")
    position, total = 12, 0
    if count > MOST_OBJECTS:
        return False
    for _ in range(count):
        try:
            kind, size, start = _header(content, position)
            if size > MOST_MEMBER_BYTES:
                return False
            found = inflated(content, start, size + 1)
            if kind in {_OFFSET_DELTA, _NAMED_DELTA}:
                size = max(size, _target_size(found.data))
        except (IndexError, ValueError):
            return False
        total += size
        if size > MOST_MEMBER_BYTES or total > MOST_INFLATED or not found.whole:
            return False
        position = found.end
    return True


def _header(content: bytes, position: int) -> tuple[int, int, int]:
    """Kind and size of the object at a position, and where its compressed bytes begin.

    Raises:
        IndexError: The file ends before.
        ValueError: A number is longer than any that git writes.
    """
    byte = content[position]
    kind, size, shift = (byte >> 4) & 7, byte & 15, 4
    while byte & 0x80:
        if shift > _MOST_SHIFT:
            raise ValueError("the size of an object takes more than 64 bits")
        position += 1
        byte = content[position]
        size |= (byte & 0x7F) << shift
        shift += 7
    position += 1
    if kind == _OFFSET_DELTA:
        first = position
        while content[position] & 0x80:
            position += 1
            if position - first >= _MOST_OFFSET_BYTES:
                raise ValueError("the offset of a delta takes more than 64 bits")
        position += 1
    return kind, size, position + (_NAME_BYTES if kind == _NAMED_DELTA else 0)


def _target_size(delta: bytes) -> int:
    """The size a delta says its result has: the second of two numbers it begins with.

    Raises:
        ValueError: One of them is longer than any that git writes.
    """
    position = size = 0
    for _ in range(2):
        size = shift = 0
        while position < len(delta):
            if shift > _MOST_SHIFT:
                raise ValueError("a size in a delta takes more than 64 bits")
            byte = delta[position]
            position += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
    return size
