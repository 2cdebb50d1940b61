"""The image store: bases and image layers, kept between runs; each is made once, aside, and appears whole."""

from __future__ import annotations

import hashlib
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.bubblewrap import skeleton
from sandbox.bubblewrap.roots import Root

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sandbox.image.bases import Base

_CHUNK = 1 << 20
_TELLING_FILES = ("etc/os-release", "usr/lib/os-release", "var/lib/dpkg/status", "lib/apk/db/installed")


@dataclass(frozen=True, slots=True)
class StoredImage:
    """What the store knows of an image.

    Attributes:
        root: What a sandbox of it is stacked from.
        base: The base's name for the record.
    """

    root: Root
    base: str


class ImageStore:
    """A folder of bases (`bases/`), layers (`layers/`) and the descriptions of images (`images/*.json`).

    Args:
        folder: Where.
        run: Name of the run directory of this process: what it builds aside is swept with it.
    """

    def __init__(self, folder: Path, run: str) -> None:
        self.folder = folder
        self._run = run
        self._count = 0
        for name in ("bases", "layers", "images", "locks", "aside"):
            (folder / name).mkdir(parents=True, exist_ok=True, mode=0o700)

    @asynccontextmanager
    async def locked(self, key: str) -> AsyncIterator[None]:
        """Holds one key, against other tasks and other processes."""
        from filelock import AsyncFileLock

        async with AsyncFileLock(self.folder / "locks" / f"{key}.lock", is_singleton=False):
            yield

    def aside(self) -> Path:
        """A fresh path on the store's file system, to be made, then renamed to its place."""
        self._count += 1
        return self.folder / "aside" / f"{self._run}-{self._count}"

    def layer(self, key: str) -> Path:
        """Where the layer of an image lies."""
        return self.folder / "layers" / key

    def save(self, key: str, image: StoredImage) -> None:
        """Describes an image."""
        body = {
            "base": image.base,
            "mounts": [[mount, [str(lower) for lower in lowers]] for mount, lowers in image.root.base],
            "layers": [str(layer) for layer in image.root.layers],
        }
        aside = self.aside()
        aside.write_text(json.dumps(body, indent=1))
        aside.replace(self.folder / "images" / f"{key}.json")

    def load(self, key: str) -> StoredImage | None:
        """Reads an image's description; `None` when it was never built, or parts of it have been removed since."""
        try:
            body = json.loads((self.folder / "images" / f"{key}.json").read_text())
        except FileNotFoundError:
            return None
        mounts = tuple((mount, tuple(Path(lower) for lower in lowers)) for mount, lowers in body["mounts"])
        root = Root(mounts, tuple(Path(layer) for layer in body["layers"]))
        folders = [lower for _mount, lowers in root.base for lower in lowers] + list(root.layers)
        return StoredImage(root, body["base"]) if all(folder.is_dir() for folder in folders) else None

    def host_base(self, *, own_files: bool) -> tuple[str, Root]:
        """This machine's /usr under a skeleton, and a name with a digest of the latter; to be called with a lock.

        Args:
            own_files: Whether root inside owns the files of /usr; otherwise its folders are laid over it as root's own.

        Raises:
            SandboxUnavailableError: It has no bash.
        """
        skeleton.check_host()
        items = skeleton.host_items()
        name = f"host-{skeleton.digest(items)}"
        place = self._made_once(name, items)
        mounts = [("/", (place,))]
        for path in ("/usr", *skeleton.unmerged_folders()):
            folders = () if own_files else (self._folders_of(path),)
            mounts.append((path, (Path(path), *folders)))
        return name if own_files else f"{name}-owned", Root(tuple(mounts))

    def _folders_of(self, path: str) -> Path:
        items = skeleton.writable_folders(Path(path))
        return self._made_once(f"{path.strip('/')}-{skeleton.digest(items)}", items)

    def _made_once(self, name: str, items: dict[str, skeleton.Item]) -> Path:
        place = self.folder / "bases" / name
        if not place.exists():
            aside = self.aside()
            aside.mkdir(mode=0o755)
            skeleton.write(items, aside)
            aside.rename(place)
        return place


def leftovers(folder: Path, dead: list[str]) -> list[Path]:
    """What dead processes, by the names of their run directories, were building in a store."""
    aside = folder / "aside"
    return [path for path in sorted(aside.iterdir()) if path.name.rpartition("-")[0] in dead] if aside.is_dir() else []


def folder_digest(folder: Path) -> str:
    """Tells root folders apart by what their package managers have installed."""
    found = hashlib.sha256()
    for name in _TELLING_FILES:
        try:
            found.update((folder / name).read_bytes())
        except OSError:
            found.update(b"-")
    return found.hexdigest()[:16]


def file_digest(path: Path) -> str:
    """A short SHA-256 of a file."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            found.update(data)
    return found.hexdigest()[:16]


def base_name(base: Base) -> str:
    """A base's name for the record."""
    if base.kind == "host" or base.path is None:
        return "host"
    digest = folder_digest(base.path) if base.kind == "dir" else file_digest(base.path)
    return f"{base.kind}:{digest}"
