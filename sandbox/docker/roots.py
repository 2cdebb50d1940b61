"""Root folders and archives of this machine as images of the engine, imported once per content."""

from __future__ import annotations

import hashlib
import os
import stat
import tarfile
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

from sandbox.docker.engine import call_engine
from sandbox.docker.labels import BACKEND, IMAGE, KIND
from sandbox.errors import ImageError, SandboxError, UnsupportedTaskError
from sandbox.image.archives import opened
from sandbox.image.digests import base_name

if TYPE_CHECKING:
    import docker

    from sandbox.image.bases import Base

REPOSITORY = "envolve/base"

_PATH = "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_EMPTY = ("dev", "proc", "sys")  # made by the kernel in each sandbox


def import_base(client: docker.DockerClient, base: Base, image: str) -> tuple[str, str]:
    """Imports a root file system if the engine does not have it yet; blocks.

    Args:
        client: The engine.
        base: What to import.
        image: The name it stands for, for messages.

    Returns:
        Its name in the engine, and its name for the record.

    Raises:
        UnsupportedTaskError: It is this machine's own /usr.
        ImageError: It cannot be read.
        SandboxError: The engine refused it.
    """
    if base.path is None:
        raise UnsupportedTaskError(
            f"--base {image}=host: the docker back end cannot build on this machine's own /usr. Map {image} to a root "
            f"folder (--base {image}=DIR) or an archive of one, or leave the rule out and the engine pulls {image}"
        )
    try:
        record = base_name(base)
        key = record.partition(":")[2] if base.kind == "tar" else _folder_digest(base.path)
        name = f"{REPOSITORY}:{key}"
        if call_engine(f"looking for {name}", client.images.list, name):
            return name, record
        if base.kind == "tar" and _is_image(base.path):
            _load(client, base.path, key, image)
            return name, record
        with tempfile.TemporaryFile() if base.kind == "dir" else base.path.open("rb") as archive:
            if base.kind == "dir":
                _write_archive(base.path, archive)
                archive.seek(0)
            labels = " ".join(f"{name}={value}" for name, value in ((KIND, "base"), (BACKEND, "docker"), (IMAGE, key)))
            said = call_engine(
                f"importing {base.path} for {image}",
                client.api.import_image,
                archive,
                repository=REPOSITORY,
                tag=key,
                changes=[_PATH, f"LABEL {labels}"],
            )
    except OSError as error:
        raise ImageError(f"{base.path}, which {image} stands for, cannot be read: {error}") from error
    if '"error"' in str(said):
        raise ImageError(f"{base.path}, which {image} stands for, cannot be imported: {said}")
    return name, record


def _is_image(path: Path) -> bool:
    """Whether it is an image's archive, layers and all, and not one of a root."""
    files = opened(path)
    if files is None:
        return False
    files.close()
    return True


def _load(client: docker.DockerClient, path: Path, key: str, image: str) -> None:
    """Loads what `docker save` wrote (an engine of 2024 or later also an OCI layout in a tar) under our name."""
    if path.is_dir():
        raise UnsupportedTaskError(
            f"--base {image}={path}: an image layout in a folder, and the engine loads archives: give it as a tar"
        )
    with path.open("rb") as archive:
        try:
            loaded = call_engine(f"loading {path} for {image}", client.images.load, archive)
        except SandboxError as error:
            raise ImageError(f"{path}, which {image} stands for, is not to the engine's taste: {error}") from error
    if len(loaded) != 1:
        raise ImageError(f"{path}, which {image} stands for, holds {len(loaded)} images, and one is wanted")
    call_engine(f"naming {path}", loaded[0].tag, REPOSITORY, key)


def _folder_digest(root: Path) -> str:
    """Tells a root folder by all that a look at each file tells; to read them all takes too long."""
    digest = hashlib.sha256()
    for folder, names, files in os.walk(root):
        names.sort()
        inside = os.path.relpath(folder, root)
        if inside in _EMPTY:
            names.clear()
            continue
        for name in sorted(names + files):
            status = os.lstat(f"{folder}/{name}")
            link = os.readlink(f"{folder}/{name}") if stat.S_ISLNK(status.st_mode) else ""  # noqa: PTH115
            changed = status.st_mtime_ns if stat.S_ISREG(status.st_mode) else 0
            size = status.st_size if stat.S_ISREG(status.st_mode) else 0
            row = (inside, name, status.st_mode, status.st_uid, status.st_gid, size, changed, link)
            digest.update(repr(row).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:16]


def _write_archive(root: Path, target: IO[bytes]) -> None:
    def wanted(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        top, slash, _ = entry.name.removeprefix("./").partition("/")
        if (top in _EMPTY and slash) or entry.ischr() or entry.isblk():
            return None
        return entry

    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT, errors="surrogateescape") as archive:
        archive.add(root, ".", filter=wanted)
