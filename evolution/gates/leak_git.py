"""Looks into git repositories: every object, whoever still points to it, and what it is called there.

Objects come from loose files, packs with their deltas resolved, and bundles; branches, tags, notes, the stash, the
reflog and lost commits all end in such objects. Bounded, in memory; what is malformed is left out.
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from evolution.gates.leak_archives import MOST_MEMBER_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dulwich.objects import Commit, ShaFile, Tag

MOST_OBJECTS: Final = 20_000
MOST_PACK: Final = 64 * 1024 * 1024
MOST_INFLATED: Final = 128 * 1024 * 1024
MOST_COMMITS: Final = 5000
MOST_DEPTH: Final = 60
"""Folders inside folders of a tree."""

_LOOSE = re.compile(r"^(?P<root>.*?)/?objects/(?P<first>[0-9a-f]{2})/(?P<rest>[0-9a-f]{38})$")
_PACK = re.compile(r"^(?P<root>.*?)/?objects/pack/[^/]+\.pack$")
_BUNDLES = (b"# v2 git bundle", b"# v3 git bundle")
_HEX40 = re.compile(r"\b[0-9a-f]{40}\b")
_DELTAS = (6, 7)
_BLOB, _TREE, _COMMIT, _TAG = 3, 2, 1, 4


@dataclass(frozen=True, slots=True)
class GitText:
    """Something in a repository that can be read.

    Attributes:
        repository: The folder of its git files, or the bundle.
        name: The path a tree gives it; "" for a message or a blob that no tree names.
        origin: The object, a commit it is in, and who points there.
        content: Its bytes.
    """

    repository: str
    name: str
    origin: str
    content: bytes


@dataclass(slots=True)
class _Repository:
    """One repository's objects by hexadecimal name, and its refs by what they are called."""

    objects: dict[bytes, ShaFile] = field(default_factory=dict)
    refs: dict[str, set[bytes]] = field(default_factory=dict)


def roots_of(paths: Iterable[str]) -> frozenset[str]:
    """The folders of git files among some paths: those with `HEAD` beside `objects/`."""
    known = frozenset(paths)
    folders = {match["root"] for path in known if (match := _LOOSE.match(path) or _PACK.match(path))}
    return frozenset(folder for folder in folders if f"{folder}/HEAD".lstrip("/") in known or f"{folder}/HEAD" in known)


def git_texts(files: Mapping[str, bytes]) -> Iterator[GitText]:
    """All that can be read in the repositories and bundles among some files.

    Args:
        files: Contents by path; only git's own files matter.
    """
    roots = roots_of(files)
    for root in sorted(roots):
        inside = {path.removeprefix(root).lstrip("/"): data for path, data in files.items() if path.startswith(root)}
        borrowed = [other for other in roots if other != root]  # alternates: objects may lie in any of the others
        yield from _texts(root, _read(inside, [_below(files, other) for other in borrowed]))
    for path, content in sorted(files.items()):
        if content.startswith(_BUNDLES):
            yield from _texts(path, _read_bundle(content))


def _below(files: Mapping[str, bytes], root: str) -> dict[str, bytes]:
    return {path.removeprefix(root).lstrip("/"): data for path, data in files.items() if path.startswith(root)}


def _read(inside: Mapping[str, bytes], borrowed: Iterable[Mapping[str, bytes]]) -> _Repository:
    repository = _Repository()
    others: dict[bytes, ShaFile] = {}
    if any(path.endswith("info/alternates") for path in inside):
        for other in borrowed:
            _add_objects(other, others, {})
    _add_objects(inside, repository.objects, others)
    for path, content in inside.items():
        text = content[:MOST_MEMBER_BYTES].decode("utf-8", "replace")
        if path == "packed-refs":
            for line in text.splitlines():
                if (match := _HEX40.match(line)) and " " in line:
                    repository.refs.setdefault(line.partition(" ")[2], set()).add(match[0].encode())
        elif path.startswith("logs/"):
            found = repository.refs.setdefault(f"reflog of {path.removeprefix('logs/')}", set())
            found.update(name.encode() for name in _HEX40.findall(text))
        elif (path.startswith("refs/") or path.endswith("HEAD")) and _HEX40.match(text):
            repository.refs.setdefault(path, set()).add(text[:40].encode())
    return repository


def _add_objects(inside: Mapping[str, bytes], objects: dict[bytes, ShaFile], others: Mapping[bytes, ShaFile]) -> None:
    for path, content in inside.items():
        if len(objects) < MOST_OBJECTS and _LOOSE.match(path) and (loose := _loose(content)) is not None:
            objects[bytes(loose.id)] = loose
    for path, content in inside.items():
        if _PACK.match(path):
            for found in _packed(content, {**others, **objects}):
                if len(objects) >= MOST_OBJECTS:
                    return
                objects[bytes(found.id)] = found


def _read_bundle(content: bytes) -> _Repository:
    repository = _Repository()
    start = content.find(b"\n\nPACK")
    for line in content[: max(start, 0)].splitlines():
        name, _, ref = line.decode("utf-8", "replace").partition(" ")
        if _HEX40.fullmatch(name):
            repository.refs.setdefault(ref or "the bundle", set()).add(name.encode())
    if start >= 0:
        for found in _packed(content[start + 2 :], {}):
            repository.objects[bytes(found.id)] = found
    return repository


def _loose(content: bytes) -> ShaFile | None:
    from dulwich.errors import FileFormatException
    from dulwich.objects import ShaFile

    try:
        data = zlib.decompressobj().decompress(content, MOST_MEMBER_BYTES)
        kind, _, body = data.partition(b"\0")
        number = {b"blob": _BLOB, b"tree": _TREE, b"commit": _COMMIT, b"tag": _TAG}[kind.split(b" ")[0]]
        return ShaFile.from_raw_string(number, body)
    except (zlib.error, KeyError, ValueError, AssertionError, FileFormatException):
        return None


def _packed(content: bytes, others: Mapping[bytes, ShaFile]) -> Iterator[ShaFile]:
    """Every object of a pack, those that are deltas put together."""
    from dulwich.errors import ApplyDeltaError, ChecksumMismatch, ObjectFormatException
    from dulwich.object_format import SHA1
    from dulwich.pack import PackData, PackInflater, UnresolvedDeltas

    if not _fits(content):
        return

    def elsewhere(name: bytes) -> tuple[int, list[bytes]]:
        found = others[name if len(name) == 40 else name.hex().encode()]  # noqa: PLR2004 - hexadecimal or raw
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


def _fits(content: bytes) -> bool:
    """Whether a pack is whole and unpacks to no more than the bounds; a delta may still make one object large."""
    if len(content) > MOST_PACK or content[:4] != b"PACK" or len(content) < 32:  # noqa: PLR2004
        return False
    count = int.from_bytes(content[8:12], "big")
    position, total = 12, 0
    if count > MOST_OBJECTS:
        return False
    for _ in range(count):
        try:
            kind, size, position = _header(content, position)
            inflate = zlib.decompressobj()
            data = inflate.decompress(content[position:], min(size, MOST_MEMBER_BYTES) + 1)
        except (IndexError, zlib.error):
            return False
        if kind in _DELTAS:
            size = max(size, _target_size(data))
        total += size
        if size > MOST_MEMBER_BYTES or total > MOST_INFLATED or not inflate.eof:
            return False
        position = len(content) - len(inflate.unused_data)
    return True


def _header(content: bytes, position: int) -> tuple[int, int, int]:
    """Kind and size of the object at a position, and where its compressed bytes begin."""
    byte = content[position]
    kind, size, shift = (byte >> 4) & 7, byte & 15, 4
    while byte & 0x80:
        position += 1
        byte = content[position]
        size |= (byte & 0x7F) << shift
        shift += 7
    position += 1
    if kind == _DELTAS[0]:
        while content[position] & 0x80:
            position += 1
        position += 1
    return kind, size, position + (20 if kind == _DELTAS[1] else 0)


def _target_size(delta: bytes) -> int:
    """The size a delta says its result has: the second of two numbers it begins with."""
    position = size = shift = 0
    for _ in range(2):
        size = shift = 0
        while position < len(delta):
            byte = delta[position]
            position += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
    return size


def _texts(root: str, repository: _Repository) -> Iterator[GitText]:
    from dulwich.objects import Commit, Tag

    commits = _holders(repository)
    names = _names(repository, commits)
    for key, found in sorted(repository.objects.items()):
        shown = key.decode()[:12]
        if found.type_num == _BLOB:
            name, origin = names.get(key, ("", "which no tree names"))
            yield GitText(root, name, f"blob {shown}, {origin}", found.as_raw_string())
        elif isinstance(found, Commit | Tag):
            origin = commits.get(key, "which nothing points to")
            yield GitText(root, "", f"message of {found.type_name.decode()} {shown}, {origin}", _message(found))


def _message(found: Commit | Tag) -> bytes:
    """What people wrote; names of objects above it are git's own."""
    return found.as_raw_string().partition(b"\n\n")[2]


def _holders(repository: _Repository) -> dict[bytes, str]:
    """Who points to each commit: the best known ref it can be reached from."""
    from dulwich.errors import ObjectFormatException
    from dulwich.objects import Commit, Tag

    order = sorted(
        repository.refs, key=lambda ref: (ref.endswith("_HEAD"), ref.startswith("reflog"), "stash" in ref, ref)
    )
    holders: dict[bytes, str] = {}
    for ref in order:
        todo = list(repository.refs[ref])
        while todo and len(holders) < MOST_COMMITS:
            key = todo.pop()
            found = repository.objects.get(key)
            if key in holders or found is None:
                continue
            holders[key] = f"reached from {ref}"
            try:
                if isinstance(found, Commit):
                    todo += found.parents
                elif isinstance(found, Tag):
                    todo.append(found.object[1])
            except (ObjectFormatException, ValueError, AttributeError, TypeError):
                continue
    return holders


def _names(repository: _Repository, holders: Mapping[bytes, str]) -> dict[bytes, tuple[str, str]]:
    """Of each blob a path, and a commit it is in; those of commits that refs lead to come first."""
    from dulwich.errors import ObjectFormatException
    from dulwich.objects import Commit, Tree

    names: dict[bytes, tuple[str, str]] = {}
    seen: set[bytes] = set()

    def walk(key: bytes, folder: str, origin: str, depth: int) -> None:
        tree = repository.objects.get(key)
        if key in seen or depth > MOST_DEPTH or not isinstance(tree, Tree):
            return
        seen.add(key)
        try:
            entries = list(tree.items())
        except (ObjectFormatException, ValueError, KeyError, AssertionError):
            return
        for entry in entries:
            path = f"{folder}{entry.path.decode('utf-8', 'replace')}"
            child = bytes(entry.sha)
            names.setdefault(child, (path, f"`{path}` {origin}"))
            walk(child, f"{path}/", origin, depth + 1)

    commits = [(key, found) for key, found in repository.objects.items() if isinstance(found, Commit)]
    for key, commit in sorted(commits, key=lambda pair: (pair[0] not in holders, pair[0])):
        try:
            tree = bytes(commit.tree)
        except (ObjectFormatException, ValueError, AttributeError, KeyError, TypeError):
            continue
        walk(tree, "", f"of commit {key.decode()[:12]} ({holders.get(key, 'unreachable')})", 0)
    for key, found in sorted(repository.objects.items()):
        if isinstance(found, Tree) and key not in seen:
            walk(key, "", f"of tree {key.decode()[:12]} (in no commit)", 0)
    return names
