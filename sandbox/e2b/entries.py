"""What lies at a path of a sandbox, as its service sees it from outside of every command."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from connectrpc.code import Code
from connectrpc.errors import ConnectError
from e2b.envd.filesystem.filesystem_pb import ListDirRequest, StatRequest

from sandbox.e2b.failures import attempted
from sandbox.e2b.wire import REQUEST_MS, as_user
from sandbox.errors import UnsupportedTaskError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from e2b.envd.filesystem.filesystem_pb import EntryInfo

    from sandbox.e2b.wire import Wire

Kind = Literal["file", "folder", "link", "other"]

_KINDS: dict[str, Kind] = {"-": "file", "d": "folder", "L": "link"}
_ROOT = as_user("root")
_WHOLE = 4096
"""Levels of folders: more than a path that the kernel takes can have."""
_AT_ONCE = 4
_LISTING_MS = 120_000
_CANNOT_LIST = (Code.INTERNAL, Code.UNKNOWN, Code.DEADLINE_EXCEEDED)
_IN_PARTS = frozenset({"/", "/usr"})
"""Listed one level, and then each folder in them: the root holds what is no disk, and /usr most of all files."""
_NOT_FILES = frozenset({"/proc", "/sys", "/dev", "/run"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in a folder.

    Attributes:
        path: Where it is.
        kind: `other` is a pipe, a socket or a device.
        mode: Permissions; of a link those of what it points to.
        size: Bytes; of a link the length of what it says.
        owner: Name and group.
        link: What a link leads to in the end; the service does not tell what it says.
        modified: Seconds and nanoseconds.
    """

    path: str
    kind: Kind
    mode: int
    size: int
    owner: str
    link: str
    modified: tuple[int, int]


async def entry_at(wire: Wire, path: str) -> Entry | None:
    """What lies at a path, a link itself and not what it points to; `None` for nothing.

    Raises:
        SandboxError: The service failed.
    """

    async def ask() -> Entry | None:
        try:
            found = await wire.folders.stat(StatRequest(path=path), headers=_ROOT, timeout_ms=REQUEST_MS)
        except ConnectError as error:
            if error.code is Code.NOT_FOUND or "not a directory" in error.message.lower():
                return None
            raise
        return _entry(found.entry, path) if found.entry else None

    return await attempted(f"looking at {path}", ask)


async def listing(wire: Wire, folder: str) -> dict[str, Entry]:
    """Everything below a folder, links not followed; empty where there is no such folder.

    Of what is no disk (`/proc`, `/sys`, `/dev`, `/run`) nothing is listed. A whole tree is asked for at once: one
    request for each folder would take minutes for a whole machine.

    Raises:
        UnsupportedTaskError: The service cannot tell the names in a folder.
        SandboxError: The service failed.
    """
    found: dict[str, Entry] = {}
    limit = asyncio.Semaphore(_AT_ONCE)

    async def add(at: str) -> None:
        async with limit:
            entries = None if at in _IN_PARTS else await _list(wire, at, _WHOLE)
            by_level = entries is None
            if entries is None:
                entries = await _list(wire, at, 1)
        if entries is None:
            raise UnsupportedTaskError(
                f"the E2B service cannot list {at}: a name in it may be no UTF-8, or its files change all the time"
            )
        kept = [entry for entry in entries if entry.path not in _NOT_FILES]
        found.update((entry.path, entry) for entry in kept)
        if by_level:
            await asyncio.gather(*(add(entry.path) for entry in kept if entry.kind == "folder"))

    await add(folder)
    return found


async def _list(wire: Wire, folder: str, depth: int) -> Sequence[Entry] | None:
    """What a listing holds; `None` where the service failed at it, as it does at a name that is no UTF-8."""

    async def ask() -> Sequence[Entry] | None:
        try:
            request = ListDirRequest(path=folder, depth=depth)
            told = await wire.folders.list_dir(request, headers=_ROOT, timeout_ms=_LISTING_MS)
        except ConnectError as error:
            if error.code in (Code.NOT_FOUND, Code.INVALID_ARGUMENT):  # gone, or made into a file
                return ()
            if error.code in _CANNOT_LIST:
                return None
            raise
        return await asyncio.to_thread(lambda: [_entry(entry, entry.path) for entry in told.entries])

    return await attempted(f"listing {folder}", ask)


def _entry(told: EntryInfo, path: str) -> Entry:
    kind = _KINDS.get(told.permissions[:1], "other")
    modified = (told.modified_time.seconds, told.modified_time.nanos) if told.modified_time else (0, 0)
    return Entry(path, kind, told.mode, told.size, f"{told.owner}:{told.group}", told.symlink_target or "", modified)
