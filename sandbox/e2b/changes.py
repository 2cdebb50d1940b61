"""What differs between two listings of a sandbox's files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox.protocol import Change

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sandbox.e2b.entries import Entry


def changes(before: Mapping[str, Entry], now: Mapping[str, Entry]) -> tuple[Change, ...]:
    """What was added, changed and removed, by path; what lay in a removed folder is not told one by one."""
    return tuple(sorted(_changes(before, now), key=lambda change: change.path))


def _changes(before: Mapping[str, Entry], now: Mapping[str, Entry]) -> Iterator[Change]:
    for path, entry in now.items():
        if path not in before:
            yield Change(path, "added", _link(entry))
        elif _differs(before[path], entry):
            yield Change(path, "changed", _link(entry))
    for path in before.keys() - now.keys():
        if path.rpartition("/")[0] in ("", *now) or path.rpartition("/")[0] not in before:
            yield Change(path, "removed")


def _differs(one: Entry, other: Entry) -> bool:
    """A folder's size and time tell of what is in it, and that is told by itself."""
    if (one.kind, one.mode, one.owner, one.link) != (other.kind, other.mode, other.owner, other.link):
        return True
    return one.kind != "folder" and (one.size, one.modified) != (other.size, other.modified)


def _link(entry: Entry) -> str | None:
    """The service tells where a link leads in the end, not what it says."""
    return None if entry.kind == "link" else ""
