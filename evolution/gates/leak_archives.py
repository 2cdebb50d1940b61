"""Looks into what an environment ships packed: archives, compressed files, git's own. Bounded, in memory.

What lies beside the members of an archive - a program before it, a text behind it, another archive - is given as well.
"""

from __future__ import annotations

import io
import lzma
import re
import struct
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evolution.gates.leak_packs import BUNDLES, LOOSE, loose_body, names_in_tree, pack_streams
from evolution.gates.leak_streams import MOST_MEMBER_BYTES, STREAM_MAGIC, after_zeros, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEEPEST = 6
"""Archives inside archives are opened this deep; a compressed archive counts twice."""
MOST_MEMBERS = 2000
MOST_BYTES = 64 * 1024 * 1024
BESIDE = "(beside the members)"
"""The name of what belongs to no member of an archive."""
MOST_BESIDE = 8
"""Archives that lie one behind another in a file are opened this often."""
SHORTEST_BESIDE = 24

_EXPORTED = re.compile(rb"^(?:M [0-7]+ \S+|D|R|C) (.+)$", re.MULTILINE)
_BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    struct.error,
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

    def __init__(self, told: Callable[[str], None]) -> None:
        self.members = MOST_MEMBERS
        self.bytes = MOST_BYTES
        self.told = told

    def take(self, size: int) -> bool:
        self.members -= 1
        self.bytes -= size
        return self.members >= 0 and self.bytes >= 0


def unpacked(path: str, content: bytes, on_cut: Callable[[str], None] = lambda _: None) -> Iterator[Packed]:
    """Everything inside a file, the insides of its archives included; nothing for a file that packs nothing.

    Args:
        path: What to call the file.
        content: Its bytes.
        on_cut: Told of each archive that holds more than there is room for.
    """
    yield from _inside(path, content, DEEPEST, MOST_BESIDE, _Budget(on_cut))


def _inside(path: str, content: bytes, depth: int, beside: int, budget: _Budget) -> Iterator[Packed]:
    if depth == 0 or beside == 0:
        if any(True for _ in _members(path, content, budget)):
            budget.told(path)
        return
    for member in _members(path, content, budget):
        if not budget.take(len(member.content)):
            budget.told(path)
            return
        yield member
        is_beside = member.path.endswith(f"!{BESIDE}")
        yield from _inside(member.path, member.content, depth - (not is_beside), beside - is_beside, budget)


def _members(path: str, content: bytes, budget: _Budget) -> Iterator[Packed]:
    try:
        if content.startswith(b"PK\x03\x04"):
            yield from _zip(path, content, budget)
        elif content[257:262] == b"ustar":
            yield from _tar(path, content, budget)
        elif content.startswith(STREAM_MAGIC):
            yield from _streams(path, content, budget)
        elif content.startswith((b"PACK", *BUNDLES)):
            yield from _pack(path, content)
        elif LOOSE.match(path):
            yield from _git_object(path, content)
        elif content.startswith((b"blob\n", b"commit refs/", b"reset refs/", b"feature done")):
            yield from (Packed(f"{path}!{_shown(name)}", b"") for name in _EXPORTED.findall(content))
        elif zipfile.is_zipfile(io.BytesIO(content)):  # a program before it: a zipapp, a self-extracting archive
            yield from _zip(path, content, budget)
    except _BROKEN:
        return  # not what it began like, or cut: whatever came before the break has been looked at


def _zip(path: str, content: bytes, budget: _Budget) -> Iterator[Packed]:
    end = content.rfind(b"PK\5\6") + 22
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if len(archive.infolist()) > MOST_MEMBERS:
            budget.told(path)
        covered = [(archive.start_dir, end)]
        for info in archive.infolist()[:MOST_MEMBERS]:
            covered.append((info.header_offset, _end_of_member(content, info)))
            if info.is_dir():
                continue
            try:
                with archive.open(info) as stream:
                    data = stream.read(MOST_MEMBER_BYTES)
            except _BROKEN:
                data = b""  # encrypted or damaged: its name still counts
            if len(data) < info.file_size and data:
                budget.told(f"{path}!{info.filename}")
            yield Packed(f"{path}!{info.filename}", data)
    yield from _beside(path, content, covered)


def _end_of_member(content: bytes, info: zipfile.ZipInfo) -> int:
    """Where the bytes of a member end, by what stands before them."""
    lengths = content[info.header_offset + 26 : info.header_offset + 30]
    name, extra = struct.unpack("<HH", lengths) if len(lengths) == 4 else (0, 0)  # noqa: PLR2004 - two numbers
    return int(info.header_offset + 30 + name + extra + info.compress_size)


def _tar(path: str, content: bytes, budget: _Budget) -> Iterator[Packed]:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
        for info in archive:
            stream = archive.extractfile(info) if info.isfile() else None
            if stream and info.size > MOST_MEMBER_BYTES:
                budget.told(f"{path}!{info.name}")
            yield Packed(f"{path}!{info.name}", stream.read(MOST_MEMBER_BYTES) if stream else b"")
        end = after_zeros(content, archive.offset)
    yield from _beside(path, content, [(0, end)])


def _streams(path: str, content: bytes, budget: _Budget) -> Iterator[Packed]:
    found = joined(content, max(1, budget.bytes))
    if found.data:
        yield Packed(f"{path}!", found.data)
    if not found.whole and not found.damaged:
        budget.told(path)
    elif found.data or found.whole:
        yield from _beside(path, content, [(0, found.end)])


def _pack(path: str, content: bytes) -> Iterator[Packed]:
    """Every zlib stream in a git pack; deltas come out as they are, whole objects as their content."""
    covered = []
    for stream in pack_streams(content):
        covered.append((stream.start, stream.end))
        if stream.data:
            yield Packed(f"{path}!object at byte {stream.start}", stream.data)
            yield from (Packed(f"{path}!{name}", b"") for name in names_in_tree(stream.data))
    yield from _beside(path, content, covered)


def _beside(path: str, content: bytes, covered: list[tuple[int, int]]) -> Iterator[Packed]:
    """What of a file none of some stretches of it covers, where that is enough to tell anything."""
    at = 0
    pieces = []
    for start, end in [*sorted(covered), (len(content), len(content))]:
        if start - at >= SHORTEST_BESIDE:
            pieces.append(content[at:start])
        at = max(at, end)
    rest = b"\n".join(pieces)
    if covered and rest.strip(b"\0"):
        yield Packed(f"{path}!{BESIDE}", rest)


def _git_object(path: str, content: bytes) -> Iterator[Packed]:
    kind, body = loose_body(content)
    if kind == "tree":
        yield from (Packed(f"{path}!{name}", b"") for name in names_in_tree(body))
    elif kind:
        yield Packed(f"{path}!", body)


def _shown(name: bytes) -> str:
    return name.decode("utf-8", "replace").strip('"')
