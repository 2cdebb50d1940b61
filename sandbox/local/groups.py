"""Control groups of local sandboxes: one for each sandbox, with the limits, and one for each command inside it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.bubblewrap.cgroup import PREFIX, Cgroup, CgroupLimits, find_hierarchies

if TYPE_CHECKING:
    from sandbox.protocol import Limits

_JOIN_FILES = ("tasks", "cgroup.procs")


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of one sandbox; without folders where none can be made.

    Attributes:
        cgroup: They.
    """

    cgroup: Cgroup

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folder that holds every process of the sandbox, or none."""
        return self.cgroup.folders[:1]

    def for_command(self, name: str) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
        """Makes the group of one command.

        Returns:
            The folder that holds every process of the command, or none; and the files by which it joins all groups.
        """
        if not self.cgroup.folders:
            return (), ()
        first, *others = self.cgroup.folders
        own = first / name
        own.mkdir()
        return (own,), tuple(_join_file(folder) for folder in (own, *others))

    def remove(self) -> None:
        """Removes all of them; their processes must be gone."""
        for folder in self.folders:
            remove_below(folder)
        self.cgroup.remove()


class GroupLimits:
    """Makes groups; found out at first use where that is possible.

    Args:
        name: Unique on this machine.
    """

    def __init__(self, name: str) -> None:
        self._limits = CgroupLimits(find_hierarchies(name))

    @property
    def enforced(self) -> frozenset[str]:
        """Names of `Limits` fields that hold for all processes of a sandbox together."""
        return self._limits.enforced

    def make(self, name: str, limits: Limits) -> Groups:
        """The groups of one sandbox."""
        return Groups(self._limits.make(name, limits))

    def sweep(self) -> None:
        """Removes the groups of dead processes."""
        for hierarchy in self._limits.hierarchies:
            for folder in hierarchy.folder.glob(f"{PREFIX}*-local-*"):
                pid = folder.name.removeprefix(PREFIX).partition("-")[0]
                if pid.isdecimal() and not Path(f"/proc/{pid}").exists():
                    remove_below(folder)
        self._limits.sweep()


def remove_below(folder: Path) -> None:
    """Removes the groups of commands in that of a sandbox, as far as no process is in them."""
    for command in folder.glob("*"):
        remove_group(command)


def remove_group(folder: Path) -> None:
    """Removes one group if no process is in it."""
    if folder.is_dir():
        try:
            os.rmdir(folder)  # noqa: PTH106 - as the kernel has it
        except OSError:
            return


def _join_file(folder: Path) -> Path:
    return next((folder / name for name in _JOIN_FILES if (folder / name).exists()), folder / "cgroup.procs")
