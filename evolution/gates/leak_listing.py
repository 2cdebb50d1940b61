"""Lists the files of a sandbox by its own `find`, which its image may have replaced: all it says is doubted."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final

from sandbox.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sandbox.protocol import Sandbox, Stream

MOST_LISTED: Final = 64 * 1024 * 1024
"""Bytes of a listing: some 700,000 files."""
PATIENCE: Final = 120.0
DEEPEST: Final = 4
"""Folders below which files are not told apart by where they lie."""
# No file is opened, so this takes as long as reading the folders does. The harness's own folders are looked at apart.
_LIST: Final = (
    "find / -xdev \\( -path /proc -o -path /sys -o -path /dev -o -path /run/envolve \\) -prune -o -type f "
    "-printf '%s %T@ %p\\0'; "
    "find /usr /opt /srv /home /root /var -xdev -type f -printf '%s %T@ %p\\0' 2>/dev/null"
)
_ROW = re.compile(rb"(\d{1,18} -?\d{1,20}(?:\.\d{1,20})?) (/.+)", re.DOTALL)

Listing = dict[str, str]
"""Size and time of each file, by path."""


class ListingError(SandboxError):
    """An image's `find` says more than any image has files: it is none, and what the image holds cannot be told."""


async def listing(sandbox: Sandbox) -> Listing:
    """The plain files in a sandbox; none where it has no `find` that can print.

    Raises:
        ListingError: There is no end of them.
    """
    told = bytearray()
    try:
        async with asyncio.timeout(None) as limit:

            def keep(stream: Stream, data: bytes) -> None:
                if stream == "stdout":
                    told.extend(data[: MOST_LISTED + 1 - len(told)])
                    if len(told) > MOST_LISTED and not limit.expired():
                        limit.reschedule(0)

            await sandbox.exec(["sh", "-c", _LIST], user=0, cwd="/", on_output=keep, timeout=PATIENCE)
    except TimeoutError:
        pass  # it is judged by what was told
    if len(told) > MOST_LISTED:
        raise ListingError(f"`find / -type f` in the image said more than {MOST_LISTED >> 20} MiB, and was stopped")
    return parsed(bytes(told))


def parsed(told: bytes) -> Listing:
    """The rows of a listing; those that are none are left out."""
    found: Listing = {}
    for row in told.split(b"\0"):
        if match := _ROW.fullmatch(row):
            found[match[2].decode("utf-8", "surrogateescape")] = match[1].decode()
    return found


def size_of(stamp: str) -> int:
    """The size in an entry of a listing."""
    return int(stamp.partition(" ")[0])


def in_turns(paths: Iterable[str]) -> list[str]:
    """Paths so that the folders take turns, and the folders inside them: none has to wait for all of another."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for path in paths:
        folders = path.split("/")[1:-1][:DEEPEST]
        key = (*folders, *[""] * (DEEPEST - len(folders)))
        groups.setdefault(key, []).append(path)
    for depth in reversed(range(DEEPEST)):
        above: dict[tuple[str, ...], list[list[str]]] = {}
        for key, members in groups.items():
            above.setdefault(key[:depth], []).append(members)
        groups = {key: _dealt(lists) for key, lists in above.items()}
    return groups.get((), [])


def _dealt(lists: list[list[str]]) -> list[str]:
    turns = [(turn, number, path) for number, paths in enumerate(lists) for turn, path in enumerate(paths)]
    return [path for _, _, path in sorted(turns)]
