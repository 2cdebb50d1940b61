"""What a solution leaves: which changed files are outputs that somebody named, and what is in them."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import posixpath
import re
import stat
import tarfile
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from evolution.gates.mutation_diff import diff
from evolution.gates.scripts import absolute_paths, holds_word, is_below
from sandbox.errors import TransferError
from sandbox.verification.carrying import declared

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sandbox.protocol import Change, Sandbox
    from sandbox.task import Task, TaskStep

MAX_BYTES: Final = 64 << 20
MAX_OUTPUTS: Final = 400
_SCRATCH: Final = ("/tmp", "/var/tmp", "/run", "/proc", "/sys", "/dev", "/logs", "/tests", "/solution", "/var/cache")  # noqa: S108 - nothing is written there
_BYTECODE: Final = ("__pycache__", ".pytest_cache")
# What git keeps for itself: when who did what, and what says nothing about history or settings.
_BOOKKEEPING: Final = re.compile(
    r"\.git/(?:logs|hooks|info|index|ORIG_HEAD|FETCH_HEAD|COMMIT_EDITMSG|description|gc\.log|objects/info)(?:/|$)"
)
_DEEP: Final = 2


@dataclass(frozen=True, slots=True)
class Entry:
    """One path as it lies in a sandbox.

    Attributes:
        kind: What it is.
        mode: Its permissions.
        owner: Numbers of user and group.
        content: The bytes of a file; of a link where it leads to.
    """

    kind: Literal["file", "link", "folder"]
    mode: int = 0o644
    owner: tuple[int, int] = (0, 0)
    content: bytes = b""

    def __str__(self) -> str:
        if self.kind == "link":
            return f"a link to {self.content.decode('utf-8', 'replace')}"
        return f"a {self.kind}, {stat.filemode(self.mode)[1:]}, {self.owner[0]}:{self.owner[1]}"


class TooLargeError(TransferError):
    """Outputs are more than `MAX_BYTES` in all."""


State = dict[str, Entry]
"""What lies at each path of a set; a path with nothing there is not in it."""


async def read_state(sandbox: Sandbox, paths: Collection[str]) -> State:
    """What lies at some paths now.

    Raises:
        TooLargeError: More than `MAX_BYTES` in all.
        TransferError: They cannot be had for another reason.
    """
    if not paths:
        return {}
    with tempfile.TemporaryDirectory(prefix="envolve-mutation-") as folder:
        archive = Path(folder) / "outputs.tar"
        try:
            await sandbox.pack(tuple(sorted(paths)), archive, max_bytes=MAX_BYTES)
        except TransferError as error:
            # Back ends have one error for all that keeps files from coming out; this one ends with the limit.
            if re.search(rf"\b{MAX_BYTES} (?:bytes in all|are allowed)$", str(error)):
                raise TooLargeError(str(error)) from error
            raise
        return await asyncio.to_thread(_read, archive, frozenset(paths))


def _read(archive: Path, paths: frozenset[str]) -> State:
    found: State = {}
    with tarfile.open(archive, "r:") as source:
        for member in source:
            path = posixpath.normpath(f"/{member.name}")
            if path not in paths:
                continue  # a folder brings what is in it
            owner, mode = (member.uid, member.gid), stat.S_IMODE(member.mode)
            if member.issym():
                found[path] = Entry("link", 0o777, owner, os.fsencode(member.linkname))
            elif member.isdir():
                found[path] = Entry("folder", mode, owner)
            elif member.isreg() or member.islnk():
                opened = source.extractfile(member)
                found[path] = Entry("file", mode, owner, opened.read() if opened is not None else b"")
    return found


def digest(state: State, paths: Collection[str]) -> str:
    """A digest of what lies at some of the paths."""
    whole = hashlib.sha256()
    for path in sorted(paths):
        entry = state.get(path)
        said = f"{path}\0-\0" if entry is None else f"{path}\0{entry}\0{len(entry.content)}\0"
        whole.update(said.encode("utf-8", "surrogatepass"))  # a name need not be UTF-8
        whole.update(b"" if entry is None else entry.content)
    return whole.hexdigest()


def difference(reference: State, state: State, paths: Collection[str]) -> str:
    """How outputs differ from the reference's, as diffs; the first few."""
    parts: list[str] = []
    differing = [path for path in sorted(paths) if reference.get(path) != state.get(path)]
    for path in differing[:2]:
        before, after = reference.get(path), state.get(path)
        if before is None or after is None:
            parts.append(f"  {path}: {'is there' if before is None else 'is missing'}")
        elif before.kind == after.kind == "file" and before.content != after.content:
            parts.append(diff(before.content, after.content, path))
        else:
            parts.append(f"  {path}: {before}; with the change {after}")
    if len(differing) > len(parts):
        parts.append(f"  … {len(differing) - len(parts)} more outputs differ")
    return "\n".join(parts)


def named_outputs(task: Task, step: TaskStep, changes: Sequence[Change], tests: str) -> tuple[str, ...]:
    """The changed paths that count as outputs of a step.

    Those that the instruction or the tests name, by path or by file name, and all that lies in a named folder which was
    not there before. Where that gives none, what lies below an artifact or a named folder. Scratch files count never.

    Args:
        task: The task.
        step: Its step.
        changes: What the reference solution left changed.
        tests: The text of the step's tests.
    """
    text = f"{task.instruction}\n{tests}"
    kinds = {change.path: change.kind for change in changes if not _is_scratch(change.path)}
    folders = absolute_paths(text)
    own = [path for path in folders if kinds.get(path) == "added"]
    strict = [
        path
        for path in kinds
        if path in text or _names_file(text, path) or any(is_below(path, folder) for folder in own)
    ]
    if not any(kind != "added" or not _holds_others(path, kinds) for path, kind in kinds.items() if path in strict):
        artifacts = [artifact.source for artifact in declared(task, step)]
        wide = [*artifacts, *(path for path in folders if path.count("/") >= _DEEP)]
        strict = [path for path in kinds if any(is_below(path, folder) for folder in wide)]
    return tuple(sorted(strict)[:MAX_OUTPUTS])


def _names_file(text: str, path: str) -> bool:
    """Whether a text names a file; a name without an ending is a plain word, so its folder has to be named as well."""
    name, folder = posixpath.basename(path), posixpath.basename(posixpath.dirname(path))
    return holds_word(text, name) and ("." in name or (bool(folder) and holds_word(text, folder)))


def _holds_others(path: str, kinds: Mapping[str, str]) -> bool:
    return any(other.startswith(f"{path}/") for other in kinds)


def _is_scratch(path: str) -> bool:
    parts = path.split("/")
    return (
        any(is_below(path, folder) for folder in _SCRATCH)
        or path.endswith((".pyc", "~", ".swp"))
        or any(name in parts for name in _BYTECODE)
        or _BOOKKEEPING.search(path) is not None
    )


async def put(sandbox: Sandbox, path: str, entry: Entry | None) -> None:
    """Lays something at a path in place of what is there, or nothing.

    A folder only gets its mode and owner, what is in it stays.
    """
    if entry is None or entry.kind != "folder":
        await sandbox.remove(path)
    if entry is None:
        return
    with tempfile.TemporaryDirectory(prefix="envolve-mutation-") as folder:
        archive = Path(folder) / "output.tar"
        await asyncio.to_thread(_write, archive, path, entry)
        await sandbox.unpack(archive)


def _write(archive: Path, path: str, entry: Entry) -> None:
    member = tarfile.TarInfo(path.lstrip("/"))
    member.mode, (member.uid, member.gid), member.mtime = entry.mode, entry.owner, 1_700_000_000
    with tarfile.open(archive, "w:", format=tarfile.PAX_FORMAT) as target:
        if entry.kind == "folder":
            member.type = tarfile.DIRTYPE
            target.addfile(member)
        elif entry.kind == "link":
            member.type, member.linkname = tarfile.SYMTYPE, os.fsdecode(entry.content)
            target.addfile(member)
        else:
            member.size = len(entry.content)
            target.addfile(member, io.BytesIO(entry.content))


def with_content(entry: Entry, content: bytes) -> Entry:
    """The same file with other bytes."""
    return replace(entry, content=content)
