"""What a sandbox's root file system is stacked from: a base, layers, and the folders that take its writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Root:
    """The read-only part of a root file system.

    Attributes:
        base: Mount point and lower folders, lowest first; the mount point "/" first.
        layers: Folders laid over it, lowest first; each has a subfolder for every mount point, see `part`.
    """

    base: tuple[tuple[str, tuple[Path, ...]], ...]
    layers: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Writable:
    """The folders that take one sandbox's writes.

    Attributes:
        folder: Holds an upper and a work folder for every mount point.
    """

    folder: Path

    def upper(self, mount: str) -> Path:
        """The upper folder of a mount point."""
        return self.folder / part(mount)

    def work(self, mount: str) -> Path:
        """The work folder of a mount point, which overlay wants beside the upper one."""
        return self.folder / f"{part(mount)}.work"

    def make(self, root: Root) -> None:
        """Makes the folders."""
        self.folder.mkdir()
        for mount, _lowers in root.base:
            self.upper(mount).mkdir(mode=0o755)
            self.work(mount).mkdir()


def part(mount: str) -> str:
    """A mount point's folder in a layer: "root" for "/", "usr" for "/usr"."""
    return mount.strip("/").replace("/", "-") or "root"


def overlay_arguments(root: Root, writable: Writable) -> list[str]:
    """The arguments by which `bwrap` mounts all of it."""
    arguments: list[str] = []
    for mount, lowers in root.base:
        for layer in (*lowers, *(layer / part(mount) for layer in root.layers)):
            arguments += ["--overlay-src", str(layer)]
        arguments += ["--overlay", str(writable.upper(mount)), str(writable.work(mount)), mount]
    return arguments
