"""Names bases by their content, for records that say what an image stands on."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from sandbox.image.bases import Base

_CHUNK = 1 << 20
_TELLING_FILES = ("etc/os-release", "usr/lib/os-release", "var/lib/dpkg/status", "lib/apk/db/installed")


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
    if base.kind == "dir":
        digest = folder_digest(base.path)
    else:  # of a layout that is a folder, the index names all else by digest
        digest = file_digest(base.path / "index.json" if base.path.is_dir() else base.path)
    return f"{base.kind}:{digest}"
