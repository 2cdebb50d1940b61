"""Looks into git repositories: every object, whoever still points to it, and what it is called there.

Objects come from loose files, packs with their deltas resolved, and bundles; branches, tags, notes, the stash, the
reflog and lost commits all end in such objects. Bounded, in memory; what is malformed is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from evolution.gates.leak_packs import BLOB, BUNDLES, LOOSE, MOST_OBJECTS, loose_object, packed_objects
from evolution.gates.leak_streams import MOST_MEMBER_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from dulwich.objects import Commit, ShaFile, Tag

MOST_COMMITS: Final = 5000
MOST_DEPTH: Final = 60
"""Folders inside folders of a tree."""

_PACK = re.compile(r"^(?P<root>.*?)/?objects/pack/[^/]+\.pack$")
_HEX40 = re.compile(r"\b[0-9a-f]{40}\b")


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
    folders = {match["root"] for path in known if (match := LOOSE.match(path) or _PACK.match(path))}
    return frozenset(folder for folder in folders if f"{folder}/HEAD".lstrip("/") in known or f"{folder}/HEAD" in known)


def is_gits_own(path: str, content: bytes, roots: frozenset[str]) -> bool:
    """Whether `git_texts` wants a file: one of a repository's own, or a bundle."""
    return content.startswith(BUNDLES) or any(path.startswith(f"{root}/") for root in roots)


def git_texts(files: Mapping[str, bytes], on_cut: Callable[[str], None] = lambda _: None) -> Iterator[GitText]:
    """All that can be read in the repositories and bundles among some files.

    Args:
        files: Contents by path; only git's own files matter.
        on_cut: Told of each repository and bundle that has more than there is room for, or a pack that is not whole.
    """
    roots = roots_of(files)
    for root in sorted(roots):
        borrowed = [other for other in roots if other != root]  # alternates: objects may lie in any of the others
        yield from _texts(root, _read(_below(files, root), borrowed, files, partial(on_cut, root)))
    for path, content in sorted(files.items()):
        if content.startswith(BUNDLES):
            yield from _texts(path, _read_bundle(content, partial(on_cut, path)))


def _below(files: Mapping[str, bytes], root: str) -> dict[str, bytes]:
    folder = f"{root}/" if root else ""
    return {path.removeprefix(folder).lstrip("/"): data for path, data in files.items() if path.startswith(folder)}


def _read(
    inside: Mapping[str, bytes], borrowed: Iterable[str], files: Mapping[str, bytes], on_cut: Callable[[], None]
) -> _Repository:
    repository = _Repository()
    others: dict[bytes, ShaFile] = {}
    if any(path.endswith("info/alternates") for path in inside):
        for other in borrowed:
            _add_objects(_below(files, other), others, {}, on_cut)
    _add_objects(inside, repository.objects, others, on_cut)
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


def _add_objects(
    inside: Mapping[str, bytes],
    objects: dict[bytes, ShaFile],
    others: Mapping[bytes, ShaFile],
    on_cut: Callable[[], None],
) -> None:
    for path, content in inside.items():
        if LOOSE.match(path) and (loose := loose_object(content)) is not None:
            if len(objects) >= MOST_OBJECTS:
                on_cut()
                return
            objects[bytes(loose.id)] = loose
    for path, content in inside.items():
        if _PACK.match(path):
            for found in packed_objects(content, {**others, **objects}, on_cut):
                if len(objects) >= MOST_OBJECTS:
                    on_cut()
                    return
                objects[bytes(found.id)] = found


def _read_bundle(content: bytes, on_cut: Callable[[], None]) -> _Repository:
    repository = _Repository()
    start = content.find(b"\n\nPACK")
    for line in content[: max(start, 0)].splitlines():
        name, _, ref = line.decode("utf-8", "replace").partition(" ")
        if _HEX40.fullmatch(name):
            repository.refs.setdefault(ref or "the bundle", set()).add(name.encode())
    if start >= 0:
        for found in packed_objects(content[start + 2 :], {}, on_cut):
            repository.objects[bytes(found.id)] = found
    return repository


def _texts(root: str, repository: _Repository) -> Iterator[GitText]:
    from dulwich.objects import Commit, Tag

    commits = _holders(repository)
    names = _names(repository, commits)
    for key, found in sorted(repository.objects.items()):
        shown = key.decode()[:12]
        if found.type_num == BLOB:
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
