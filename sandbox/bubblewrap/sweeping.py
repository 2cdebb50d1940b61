"""Finds and removes what dead processes left behind."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.bubblewrap import storage
from sandbox.bubblewrap.cgroup import CgroupLimits, find_hierarchies
from sandbox.bubblewrap.store import leftovers, store_folder
from sandbox.protocol import Stale

if TYPE_CHECKING:
    from pathlib import Path

    from sandbox.bubblewrap.janitor import Janitor

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Remains:
    """What dead processes left in a state directory.

    Attributes:
        runs: Their run directories.
        half_built: What they were building in the image store.
    """

    runs: tuple[Path, ...]
    half_built: tuple[Path, ...]

    @property
    def sandboxes(self) -> list[Path]:
        """The folders of their sandboxes."""
        return [path for run in self.runs for path in _entries(run) if path.name.isdecimal()]


def find_remains(state: Path) -> Remains:
    """Looks for them."""
    runs = storage.dead_run_directories(storage.run_roots(state))
    return Remains(tuple(runs), tuple(leftovers(store_folder(state), [run.name for run in runs])))


async def describe(remains: Remains, janitor: Janitor) -> list[Stale]:
    """One line for each, as `SandboxBackend.stale` tells it."""
    rows: list[tuple[str, str, str, Path]] = []
    for run in remains.runs:
        owner = storage.owner_of(run)
        whose = f"process {owner} is gone" if owner else "its process is gone"
        found = [(_kind(path.name), f"{run.name}-{path.name}", whose, path) for path in _entries(run)]
        rows += [row for row in found if row[0]] or [("folder", run.name, whose, run)]
    rows += [("image", path.name, "half built; its process is gone", path) for path in remains.half_built]
    sizes = await janitor.measure([path for *_row, path in rows]) if rows else []
    return [
        Stale(kind, name, f"{note}, {(size + _MIB // 2) // _MIB} MB")
        for (kind, name, note, _path), size in zip(rows, sizes, strict=True)
    ]


async def remove(remains: Remains, janitor: Janitor, cgroups: CgroupLimits | None) -> int:
    """Kills what still runs there and removes all; returns how many sandboxes those were."""
    if not remains.runs:
        return 0
    for run in remains.runs:
        await asyncio.to_thread(storage.kill_orphans, run)
    if cgroups is None:
        cgroups = CgroupLimits(await asyncio.to_thread(find_hierarchies, remains.runs[0].name))
    cgroups.sweep()
    count = len(remains.sandboxes)
    await janitor.remove([*remains.runs, *remains.half_built])
    return count


def _entries(run: Path) -> list[Path]:
    """What lies in a run directory; nothing when another process has swept it meanwhile."""
    try:
        return sorted(run.iterdir())
    except FileNotFoundError:
        return []


def _kind(name: str) -> str:
    """What an entry of a run directory is; "" for what belongs to the directory itself."""
    if name.isdecimal():
        return "sandbox"
    return "snapshot" if name[:1] == "s" and name[1:].isdecimal() else ""
