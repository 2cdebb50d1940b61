"""Looks into what an environment ships packed: archives, git objects, git packs. Bounded, in memory."""

from __future__ import annotations

import bz2
import io
import lzma
import re
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 3
"""Archives inside archives are opened this deep."""
MOST_MEMBERS = 2000
MOST_BYTES = 64 * 1024 * 1024
MOST_MEMBER_BYTES = 8 * 1024 * 1024
MOST_STREAMS = 2000
"""Compressed objects tried in one git pack."""

_EXPORTED = re.compile(rb"^(?:M [0-7]+ \S+|D|R|C) (.+)$", re.MULTILINE)
_TREE_ENTRY = re.compile(rb"(?:100644|100755|120000|40000) ([^\0/]{1,200})\0")
_BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,
    OverflowError,
)


@dataclass(frozen=True, slots=True)
class Packed:
    """Something found inside a file.

    Attributes:
        path: The file's path, and after each `!` the name inside it.
        content: Its bytes, at most `MOST_MEMBER_BYTES` of them; `b""` when only the name is known.
    """

    path: str
    content: bytes


class _Budget:
    """What may still be unpacked; shared by everything inside one file."""

    def __init__(self) -> None:
        self.members = MOST_MEMBERS
        self.bytes = MOST_BYTES

    def take(self, size: int) -> bool:
        self.members -= 1
        self.bytes -= size
        return self.members >= 0 and self.bytes >= 0


def unpacked(path: str, content: bytes) -> Iterator[Packed]:
    """Everything inside a file, the insides of its archives included; nothing for a file that packs nothing."""
    yield from _inside(path, content, DEEPEST, _Budget())


def _inside(path: str, content: bytes, depth: int, budget: _Budget) -> Iterator[Packed]:
    if depth == 0:
        return
    for member in _members(path, content, budget):
        if not budget.take(len(member.content)):
            return
        yield member
        yield from _inside(member.path, member.content, depth - 1, budget)


def _members(path: str, content: bytes, budget: _Budget) -> Iterator[Packed]:
    try:
        if content.startswith(b"PK\x03\x04"):
            yield from _zip(path, content)
        elif content[257:262] == b"ustar":
            yield from _tar(path, content)
        elif content.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0")):
            yield Packed(f"{path}!", _decompressed(content, max(1, budget.bytes)))
        elif content.startswith((b"PACK", b"# v2 git bundle", b"# v3 git bundle")):
            yield from _pack(path, content)
        elif re.search(r"(^|/)objects/[0-9a-f]{2}/[0-9a-f]{38}$", path):
            yield from _git_object(path, zlib.decompressobj().decompress(content, MOST_MEMBER_BYTES))
        elif content.startswith((b"blob\n", b"commit refs/", b"reset refs/", b"feature done")):
            yield from (Packed(f"{path}!{_shown(name)}", b"") for name in _EXPORTED.findall(content))
    except _BROKEN:
        return  # not what it began like, or cut: whatever came before the break has been looked at


def _zip(path: str, content: bytes) -> Iterator[Packed]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for info in archive.infolist()[:MOST_MEMBERS]:
            if info.is_dir():
                continue
            try:
                with archive.open(info) as stream:
                    data = stream.read(MOST_MEMBER_BYTES)
            except _BROKEN:
                data = b""  # encrypted or damaged: its name still counts
            yield Packed(f"{path}!{info.filename}", data)


def _tar(path: str, content: bytes) -> Iterator[Packed]:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
        for info in archive:
            stream = archive.extractfile(info) if info.isfile() else None
            yield Packed(f"{path}!{info.name}", stream.read(MOST_MEMBER_BYTES) if stream else b"")


def _decompressed(content: bytes, most: int) -> bytes:
    if content.startswith(b"\x1f\x8b"):
        return zlib.decompressobj(wbits=31).decompress(content, most)
    if content.startswith(b"BZh"):
        return bz2.BZ2Decompressor().decompress(content, most)
    return lzma.LZMADecompressor().decompress(content, most)


def _pack(path: str, content: bytes) -> Iterator[Packed]:
    """Every zlib stream in a git pack; deltas come out as they are, whole objects as their content."""
    start = content.find(b"PACK")
    position = start
    for _ in range(MOST_STREAMS):
        position = content.find(b"\x78", position + 1)
        if start < 0 or position < 0:
            return
        inflate = zlib.decompressobj()
        piece = content[position : position + MOST_MEMBER_BYTES]
        try:
            data = inflate.decompress(piece, MOST_MEMBER_BYTES)
        except zlib.error:
            continue
        if data and inflate.eof:
            yield Packed(f"{path}!object at byte {position}", data)
            yield from _names_in_tree(path, data)
            position += len(piece) - len(inflate.unused_data) - 1


def _git_object(path: str, data: bytes) -> Iterator[Packed]:
    kind, _, body = data.partition(b"\0")
    if kind.startswith(b"tree "):
        yield from _names_in_tree(path, body)
    elif kind.startswith((b"blob ", b"commit ", b"tag ")):
        yield Packed(f"{path}!", body)


def _names_in_tree(path: str, data: bytes) -> Iterator[Packed]:
    for name in _TREE_ENTRY.findall(data):
        yield Packed(f"{path}!{_shown(name)}", b"")


def _shown(name: bytes) -> str:
    return name.decode("utf-8", "replace").strip('"')
