"""What differs from the image, put together from what the engine tells of each layer."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Literal

from sandbox.protocol import Change

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Kind = Literal["added", "changed", "removed"]

_KINDS: dict[int, Kind] = {0: "changed", 1: "added", 2: "removed"}
# Where the engine mounts the first process of a container; the image gets an empty file for it.
_OF_THE_ENGINE = frozenset({"/sbin/docker-init", "/usr/sbin/docker-init", "/dev/init"})


def changes_of(rows: Iterable[Mapping[str, object]] | None) -> tuple[dict[str, Kind], list[str]]:
    """Reads the engine's list; `Kind` is 0 for changed, 1 for added, 2 for removed.

    The engine lists the parents of each change, too, and does not say whether they have changed themselves.

    Returns:
        The changes that are certain, and the folders of which it has to be found out.
    """
    found = {str(row["Path"]): _KINDS[int(str(row["Kind"]))] for row in rows or ()}
    holding = {"/"}
    for path in found:
        parent = posixpath.dirname(path)
        while parent not in holding:
            holding.add(parent)
            parent = posixpath.dirname(parent)
    doubtful = sorted(path for path, kind in found.items() if kind == "changed" and path in holding)
    for path in (*doubtful, *_OF_THE_ENGINE):
        found.pop(path, None)
    return found, doubtful


def later(earlier: Mapping[str, Kind], since: Mapping[str, Kind]) -> dict[str, Kind]:
    """What two sets of changes, one after the other, come to."""
    total = dict(earlier)
    for path, kind in sorted(since.items()):
        before = earlier.get(path)
        if kind == "removed":
            for below in [known for known in total if known.startswith(f"{path}/")]:
                del total[below]
            if before == "added":
                total.pop(path, None)
            else:
                total[path] = "removed"
        elif kind == "added":
            total[path] = "changed" if before == "removed" else "added"
        else:
            total[path] = before or "changed"
    return total


def selected(changes: Mapping[str, Kind], under: Sequence[str]) -> tuple[Change, ...]:
    """Those at or below some paths, sorted by path."""
    roots = [posixpath.normpath("/" + path.lstrip("/")) for path in under]
    return tuple(
        Change(path, kind)
        for path, kind in sorted(changes.items())
        if any(root in ("/", path) or path.startswith(f"{root}/") for root in roots)
    )
