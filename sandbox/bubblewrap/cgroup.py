"""Limits for all processes of a sandbox together, by control groups (version 1 or 2) where we may make some."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox.protocol import Limits

PREFIX = "envolve-"
_PERIOD = 100_000
_FIELDS = {"memory": "memory_mb", "pids": "processes", "cpu": "cpus"}


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A folder in which control groups can be made.

    Attributes:
        folder: Our own group there, or the nearest one above that lets us.
        controllers: Which of `memory`, `pids`, `cpu` it has.
        version: 1 or 2.
    """

    folder: Path
    controllers: frozenset[str]
    version: int


class CgroupLimits:
    """Makes a control group for each sandbox.

    Args:
        hierarchies: Where; see `find_hierarchies`.
    """

    def __init__(self, hierarchies: tuple[Hierarchy, ...]) -> None:
        self.hierarchies = hierarchies

    @property
    def enforced(self) -> frozenset[str]:
        """Names of `Limits` fields that hold for all processes of a sandbox together."""
        return frozenset(_FIELDS[name] for hierarchy in self.hierarchies for name in hierarchy.controllers)

    def make(self, name: str, limits: Limits) -> Cgroup:
        """Makes the groups of one sandbox."""
        folders: list[Path] = []
        joins: list[int] = []
        for hierarchy in self.hierarchies:
            settings = _settings(hierarchy, limits)
            if not settings:
                continue
            folder = hierarchy.folder / f"{PREFIX}{os.getpid()}-{name}"
            folder.mkdir(exist_ok=True)
            folders.append(folder)
            for file, value in settings:
                _write(folder / file, value)
            joins.append(os.open(folder / _join_file(hierarchy), os.O_WRONLY | os.O_CLOEXEC))
        return Cgroup(tuple(folders), tuple(joins))

    def sweep(self) -> None:
        """Removes the groups of dead processes."""
        for hierarchy in self.hierarchies:
            for folder in hierarchy.folder.glob(f"{PREFIX}*"):
                pid = folder.name.removeprefix(PREFIX).partition("-")[0]
                if pid.isdecimal() and not Path(f"/proc/{pid}").exists():
                    _remove(folder)


@dataclass(frozen=True, slots=True)
class Cgroup:
    """The groups of one sandbox.

    Attributes:
        folders: Where they are.
        joins: Open files: a process that writes `0` there joins.
    """

    folders: tuple[Path, ...] = ()
    joins: tuple[int, ...] = ()

    def remove(self) -> None:
        """Removes the groups; their processes must be gone."""
        for fd in self.joins:
            os.close(fd)
        for folder in self.folders:
            _remove(folder)


def find_hierarchies(name: str) -> tuple[Hierarchy, ...]:
    """Finds where this process may make control groups, by making one called `name` and removing it again."""
    found: dict[Path, Hierarchy] = {}
    taken: set[str] = set()
    for controllers, path, mount, version in _own_groups():
        wanted = controllers - taken
        candidates = [path, *path.parents]
        for folder in candidates[: candidates.index(mount) + 1] if mount in candidates else [mount]:
            usable = _try(folder, wanted, version, name)
            if usable:
                taken |= usable
                found[folder] = Hierarchy(folder, usable, version)
                break
    return tuple(found.values())


def _own_groups() -> list[tuple[frozenset[str], Path, Path, int]]:
    """Controllers, our own group, the mount point and the version, for each hierarchy that concerns us."""
    mounts: dict[str, Path] = {}
    unified: Path | None = None
    rows: list[tuple[frozenset[str], Path, Path, int]] = []
    try:
        mount_lines = Path("/proc/self/mounts").read_text().splitlines()
        group_lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    for line in mount_lines:
        _device, place, kind, options = line.split()[:4]
        if kind == "cgroup2":
            unified = Path(place)
        elif kind == "cgroup":
            mounts.update((option, Path(place)) for option in options.split(",") if option in _FIELDS)
    for line in group_lines:
        _number, names, path = line.split(":", 2)
        known = frozenset(names.split(",")) & frozenset(_FIELDS)
        rows += [
            (frozenset({name}), _below(mounts[name], path), mounts[name], 1) for name in sorted(known) if name in mounts
        ]
        if not names and unified:
            rows.append((frozenset(_FIELDS), _below(unified, path), unified, 2))
    return rows


def _below(mount: Path, path: str) -> Path:
    folder = mount / path.lstrip("/")
    return folder if folder.is_dir() else mount


def _try(folder: Path, wanted: frozenset[str], version: int, name: str) -> frozenset[str]:
    """Which of the wanted controllers a new group in `folder` has; empty when none can be made or joined there."""
    if not wanted:
        return frozenset()
    trial = folder / f"{PREFIX}{os.getpid()}-{name}-trial"
    try:
        trial.mkdir()
    except OSError:
        return frozenset()
    try:
        files = {"memory": "memory.max", "pids": "pids.max", "cpu": "cpu.max"}
        if version == 1:
            files = {"memory": "memory.limit_in_bytes", "pids": "pids.max", "cpu": "cpu.cfs_quota_us"}
        usable = frozenset(controller for controller in wanted if os.access(trial / files[controller], os.W_OK))
        return usable if usable and _can_join(trial) else frozenset()
    finally:
        _remove(trial)


def _can_join(folder: Path) -> bool:
    """Whether a child of ours may enter a group: the nearest common group above must be ours to write."""
    enter = ["/bin/sh", "-c", 'echo 0 >"$1"', "sh", str(folder / "cgroup.procs")]
    return subprocess.run(enter, stderr=subprocess.DEVNULL, check=False).returncode == 0


def _join_file(hierarchy: Hierarchy) -> str:
    """The file to join by; version 1 has one for single threads, which spares the kernel a wait for all processors."""
    return "tasks" if hierarchy.version == 1 else "cgroup.procs"


def _settings(hierarchy: Hierarchy, limits: Limits) -> list[tuple[str, str]]:
    settings: list[tuple[str, str]] = []
    if "memory" in hierarchy.controllers and limits.memory_mb is not None:
        size = str(limits.memory_mb << 20)
        if hierarchy.version == 1:
            settings += [("memory.limit_in_bytes", size), ("memory.memsw.limit_in_bytes", size)]
        else:
            settings += [("memory.max", size), ("memory.swap.max", "0")]
    if "pids" in hierarchy.controllers:
        settings.append(("pids.max", str(limits.processes)))
    if "cpu" in hierarchy.controllers and limits.cpus is not None:
        quota = str(max(1000, int(limits.cpus * _PERIOD)))
        settings.append(("cpu.cfs_quota_us", quota) if hierarchy.version == 1 else ("cpu.max", f"{quota} {_PERIOD}"))
    return settings


def _write(file: Path, value: str) -> None:
    """Writes a setting; accounting of swap may be switched off in the kernel, then its file is missing."""
    try:
        file.write_text(value)
    except FileNotFoundError:
        if "swap" not in file.name and "memsw" not in file.name:
            raise


def _remove(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:  # gone, or a process that is just dying: `sweep` comes again
        return
