"""The image store: bases and image layers, kept between runs; each is made once, aside, and appears whole.

Several processes share a store, and several machines may, over a shared folder: every image has a lock for making it
and a lease for using it (file locks, which the system takes back from a process that dies), and nothing is known of an
image but what lies in the folder. A lease's time stamp is when the image was last used: see
`sandbox.bubblewrap.collecting`. Files carry the ids of whoever built them, so images of users whose ids are mapped in
different ways have different keys.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from sandbox.bubblewrap import skeleton
from sandbox.bubblewrap.roots import Root
from sandbox.image.recipe import ImageConfig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


_CHUNK = 1 << 20
_TOUCH_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class StoredImage:
    """What the store knows of an image.

    Attributes:
        root: What a sandbox of it is stacked from.
        base: The base's name for the record.
        config: What it says of its commands; of one that a recipe makes, only what its base says.
    """

    root: Root
    base: str
    config: ImageConfig = ImageConfig()  # noqa: RUF009 - frozen


class ImageStore:
    """A folder of bases (`bases/`), layers (`layers/`) and the descriptions of images (`images/*.json`).

    Args:
        folder: Where; its own permissions, where it is there already, are those of the folders made in it.
        run: Name of the run directory of this process: what it builds aside is swept with it.
    """

    def __init__(self, folder: Path, run: str) -> None:
        self.folder = folder
        self._run = run
        self._count = 0
        self._leases: dict[str, int] = {}
        self._used: dict[str, tuple[float, StoredImage]] = {}
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        mode = stat.S_IMODE(folder.stat().st_mode)
        for name in ("bases", "layers", "images", "names", "locks", "leases", "aside"):
            try:
                (folder / name).mkdir(mode=mode)
                (folder / name).chmod(mode)
            except FileExistsError:
                continue

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

    def flat(self, key: str) -> Path:
        """Where an image lies that is a whole root, in the folder `root` there."""
        return self.folder / "bases" / key

    def save(self, key: str, image: StoredImage) -> None:
        """Describes an image."""
        body = {
            "base": image.base,
            "mounts": [[mount, [self._text(lower) for lower in lowers]] for mount, lowers in image.root.base],
            "layers": [self._text(layer) for layer in image.root.layers],
            "config": {
                "env": dict(image.config.env),
                "workdir": image.config.workdir,
                "user": image.config.user,
                "triggers": list(image.config.triggers),
            },
            "bytes": sum(size_of(folder) for folder in (self.layer(key), self.flat(key)) if folder.is_dir()),
        }
        self._write(self.folder / "images" / f"{key}.json", body)

    def load(self, key: str) -> StoredImage | None:
        """Reads an image's description; `None` when it was never built, or parts of it have been removed since."""
        try:
            body = json.loads((self.folder / "images" / f"{key}.json").read_text())
        except FileNotFoundError:
            return None
        mounts = tuple((mount, tuple(self.folder / lower for lower in lowers)) for mount, lowers in body["mounts"])
        root = Root(mounts, tuple(self.folder / layer for layer in body["layers"]))
        folders = [lower for _mount, lowers in root.base for lower in lowers] + list(root.layers)
        config = body.get("config", {})
        known = ImageConfig(**{**config, "triggers": tuple(config.get("triggers", ()))})
        return StoredImage(root, body["base"], known) if all(folder.is_dir() for folder in folders) else None

    def use(self, key: str) -> StoredImage | None:
        """Like `load`; and from now until `close` nobody removes it. Says that it has been used just now."""
        at, known = self._used.get(key, (0.0, None))
        if known is not None and time.monotonic() - at < _TOUCH_SECONDS:
            return known
        self.hold(key)
        found = self.load(key)
        if found is None:
            os.close(self._leases.pop(key))
            self._used.pop(key, None)
        else:
            self._used[key] = time.monotonic(), found
        return found

    def hold(self, key: str) -> None:
        """Keeps an image or a base from being removed until `close`, whether it is there already or not."""
        lease = self._leases.get(key)
        if lease is None:
            lease = os.open(self.lease(key), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o660)
            fcntl.flock(lease, fcntl.LOCK_SH)
            self._leases[key] = lease
        os.utime(lease)

    def lease(self, key: str) -> Path:
        """The file whose lock says that an image is being used, and whose time stamp says when it last was."""
        return self.folder / "leases" / key

    def close(self) -> None:
        """Gives all leases back; the store may be used again."""
        for lease in self._leases.values():
            os.utime(lease)
            os.close(lease)
        self._leases.clear()
        self._used.clear()

    def name(self, image: str, key: str) -> None:
        """Makes an image name stand for an image of the store."""
        self._write(self._named(image), {"name": image, "key": key})

    def named(self, image: str) -> str | None:
        """The key of the image that a name stands for."""
        try:
            return str(json.loads(self._named(image).read_text())["key"])
        except FileNotFoundError:
            return None

    def _text(self, path: Path) -> str:
        """A path as it is written down: relative in the store, which other machines may have elsewhere."""
        return str(path.relative_to(self.folder) if path.is_relative_to(self.folder) else path)

    def _named(self, image: str) -> Path:
        return self.folder / "names" / f"{quote(image, safe='')}.json"

    def _write(self, path: Path, body: dict[str, object]) -> None:
        aside = self.aside()
        aside.write_text(json.dumps(body, indent=1))
        aside.replace(path)

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
        self.hold(name)
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


def size_of(folder: Path) -> int:
    """Bytes on disk below a folder, hard links counted once; what cannot be read counts nothing."""
    seen = set()
    total = 0
    for parent, _folders, files in os.walk(folder):
        for name in files:
            try:
                status = os.lstat(f"{parent}/{name}")
            except OSError:
                continue
            if status.st_nlink > 1 and (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            total += status.st_blocks * 512
    return total


def store_folder(state: Path) -> Path:
    """`$ENVOLVE_STORE`, which several users or machines may share, or the one in the state directory."""
    chosen = os.environ.get("ENVOLVE_STORE")
    return Path(chosen).absolute() if chosen else state / "store"
