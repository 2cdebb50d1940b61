"""What lies in an image store, how long nobody has used it, and its removal.

An image is removed only when its lease can be taken, that is when no living process has started from it, and when no
other image lies on top of it.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.bubblewrap.store import size_of
from sandbox.protocol import Stale

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence
    from pathlib import Path

    from sandbox.bubblewrap.store import ImageStore

_DAY = 86_400.0
_FRESH_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Kept:
    """An image, or a part of images that is none itself.

    Attributes:
        key: Its name in the store.
        base: What it was made from; "" for what is no image itself.
        names: Image names that stand for it: it was imported.
        bytes: Its size on disk, what it stands on left out.
        unused: Seconds since it was last used.
        used: Whether a living process uses it.
        needs: Keys of what it stands on.
    """

    key: str
    base: str
    names: tuple[str, ...]
    bytes: int
    unused: float
    used: bool
    needs: frozenset[str]


def kept(store: ImageStore) -> tuple[Kept, ...]:
    """Everything in a store, sorted by key."""
    names = _names(store)
    found = []
    for path in sorted((store.folder / "images").glob("*.json")):
        try:
            body = json.loads(path.read_text())
        except (OSError, ValueError):  # removed just now
            continue
        lowers = [lower for _mount, lowers in body["mounts"] for lower in lowers]
        needs = frozenset(_keys_of([*lowers, *body["layers"]])) - {path.stem}
        size = int(body.get("bytes", 0))
        found.append(_kept(store, path.stem, base=body["base"], names=names.get(path.stem, ()), size=size, needs=needs))
    known = {entry.key for entry in found}
    for folder in ("bases", "layers"):
        for path in sorted((store.folder / folder).iterdir()):
            if path.name not in known:
                found.append(_kept(store, path.name, base="", names=(), size=size_of(path), needs=frozenset()))
                known.add(path.name)
    return tuple(sorted(found, key=lambda entry: entry.key))


def unused(store: ImageStore, seconds: float) -> tuple[Stale, ...]:
    """What nobody has used for so long; touches nothing."""
    return tuple(_stale(entry) for entry in _collectable(kept(store), lambda entry: entry.unused >= seconds))


def too_much(store: ImageStore, max_bytes: int) -> tuple[Stale, ...]:
    """What to remove for the store to hold no more than `max_bytes`: what was not used for longest; no imported image.

    Where the rest is in use, or younger than an hour, it stays larger.
    """
    entries = kept(store)
    total = sum(entry.bytes for entry in entries)
    chosen: set[str] = set()
    able = _collectable(entries, lambda entry: not entry.names and entry.unused >= _FRESH_SECONDS)
    for entry in sorted(able, key=lambda entry: -entry.unused):
        if total > max_bytes:
            chosen.add(entry.key)
            total -= entry.bytes
    return tuple(_stale(entry) for entry in _collectable(entries, lambda entry: entry.key in chosen))


def detach(store: ImageStore, keys: Sequence[str]) -> list[Path]:
    """Takes images out of the store, those in use left out; the folders returned are the caller's to remove."""
    taken: list[Path] = []
    for key in keys:
        if any(key in entry.needs for entry in kept(store)):
            continue
        lease = os.open(store.lease(key), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o660)
        try:
            fcntl.flock(lease, fcntl.LOCK_EX | fcntl.LOCK_NB)
            taken += _taken_out(store, key)
        except BlockingIOError:
            continue
        finally:
            os.close(lease)
    return taken


async def collect(
    store: ImageStore,
    remove: Callable[[list[Path]], Awaitable[None]],
    *,
    unused_for: float | None = None,
    max_bytes: int | None = None,
    dry_run: bool = False,
) -> tuple[Stale, ...]:
    """Removes images that nobody has used for long, then, if there is still too much, those used longest ago.

    Args:
        store: Where.
        remove: Removes folders whose files may belong to other ids.
        unused_for: Seconds; left out, age alone is no reason.
        max_bytes: What all may hold together; left out, size is no reason.
        dry_run: Only tells.

    Returns:
        What was removed, or would be.
    """
    old = () if unused_for is None else unused(store, unused_for)
    if not dry_run:
        await remove(detach(store, [stale.name for stale in old]))
    large = () if max_bytes is None else too_much(store, max_bytes)
    large = tuple(stale for stale in large if stale not in old)
    if not dry_run:
        await remove(detach(store, [stale.name for stale in large]))
    return (*old, *large)


def _collectable(entries: Sequence[Kept], wanted: Callable[[Kept], bool]) -> list[Kept]:
    """Those that may go, what stands on others before these: none in use, and none that something left needs."""
    going = {entry.key: entry for entry in entries if not entry.used and wanted(entry)}
    while True:
        needed = {key for entry in entries if entry.key not in going for key in entry.needs}
        kept_back = going.keys() & needed
        if not kept_back:
            break
        for key in kept_back:
            del going[key]
    return sorted(going.values(), key=lambda entry: any(entry.key in other.needs for other in going.values()))


def _taken_out(store: ImageStore, key: str) -> Iterator[Path]:
    for path in [store.folder / "images" / f"{key}.json", *_name_files(store, key)]:
        path.unlink(missing_ok=True)
    for folder in (store.layer(key), store.flat(key)):
        if folder.is_dir():
            aside = store.aside()
            folder.rename(aside)
            yield aside


def _kept(store: ImageStore, key: str, *, base: str, names: tuple[str, ...], size: int, needs: frozenset[str]) -> Kept:
    lease = store.lease(key)
    try:
        moment = lease.stat().st_mtime
    except FileNotFoundError:
        description = store.folder / "images" / f"{key}.json"
        moment = description.stat().st_mtime if description.exists() else 0.0
    return Kept(key, base, names, size, max(0.0, time.time() - moment), _is_leased(lease), needs)


def _is_leased(path: Path) -> bool:
    try:
        lease = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lease, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(lease)


def _keys_of(paths: Sequence[str]) -> Iterator[str]:
    """The keys of folders of the store, whose paths are relative; others are not ours."""
    for text in paths:
        parts = text.split("/")
        if parts[0] in ("bases", "layers"):
            yield parts[1]


def _names(store: ImageStore) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for path in sorted((store.folder / "names").glob("*.json")):
        try:
            body = json.loads(path.read_text())
        except (OSError, ValueError):
            continue
        found[body["key"]] = (*found.get(body["key"], ()), body["name"])
    return found


def _name_files(store: ImageStore, key: str) -> list[Path]:
    return [path for path in (store.folder / "names").glob("*.json") if json.loads(path.read_text()).get("key") == key]


def _stale(entry: Kept) -> Stale:
    of = f"imported as {', '.join(entry.names)}" if entry.names else entry.base or "a part of images"
    size = f"{entry.bytes / 1e6:.0f} MB"
    return Stale("image", entry.key, f"{of}, {size}, unused for {min(entry.unused / _DAY, 9999):.1f} days")
