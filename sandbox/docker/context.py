"""The build context as the engine gets it: the same bytes for the same task, on every machine and at any time."""

from __future__ import annotations

import hashlib
import io
import tarfile
from typing import IO, TYPE_CHECKING

from sandbox.image.context import FOLDER, BuildContext
from sandbox.image.dockerfile import DOCKERFILE

if TYPE_CHECKING:
    from sandbox.task import Task

_MOMENT = 1_700_000_000  # any fixed time does; zero makes some tools complain
_DOCKERFILE_NAME = DOCKERFILE.removeprefix(f"{FOLDER}/")


def context_digest(task: Task, dockerfile: str) -> str:
    """SHA-256 (hex) of what `write_context` writes."""
    context = BuildContext.of(task)
    digest = hashlib.sha256(dockerfile.encode())
    for path in sorted(context.folders):
        digest.update(f"folder {path}\0".encode())
    for path, file in sorted(context.files.items()):
        if path != _DOCKERFILE_NAME:
            kind = "link" if file.link else "run" if file.executable else "file"
            digest.update(f"{kind} {file.sha256} {path}\0".encode())
    return digest.hexdigest()


def write_context(task: Task, dockerfile: str, target: IO[bytes]) -> None:
    """Writes the context as a tar archive: what `.dockerignore` leaves of `environment/`, and the given Dockerfile.

    Raises:
        TaskError: A file has changed since the task was read.
    """
    context = BuildContext.of(task)
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(folder for folder in context.folders if folder):
            archive.addfile(_entry(path, tarfile.DIRTYPE, 0o755))
        for path, file in sorted(context.files.items()):
            if path == _DOCKERFILE_NAME:
                continue
            if file.link:
                entry = _entry(path, tarfile.SYMTYPE, 0o777)
                entry.linkname = file.link
                archive.addfile(entry)
                continue
            content = task.read_bytes(f"{FOLDER}/{path}")
            entry = _entry(path, tarfile.REGTYPE, 0o755 if file.executable else 0o644)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        content = dockerfile.encode()
        entry = _entry(_DOCKERFILE_NAME, tarfile.REGTYPE, 0o644)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    # Without the padding: the engine does not read it, and resets a connection on which something was left.
    target.truncate(archive.offset)
    target.seek(0, io.SEEK_END)


def _entry(path: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path)
    entry.type, entry.mode, entry.mtime = kind, mode, _MOMENT
    return entry
