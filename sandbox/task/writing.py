"""Folders that appear whole or not at all: written aside, flushed to disk, renamed."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.errors import TaskError
from sandbox.task.files import CHUNK, TaskFile, plain_descriptor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from io import FileIO

_FOLDER_MODE = 0o755


@contextmanager
def appearing(target: Path) -> Iterator[Path]:
    """A folder to fill beside `target`; it becomes `target` when the block ends well and vanishes when it does not.

    Killed in between, it leaves `.<name>.<random>.partial` behind and never a half-written `target`.

    Raises:
        TaskError: Something is at `target` already.
    """
    if os.path.lexists(target):
        raise TaskError("exists already: a task is written to a new folder, never over an old one", file=target)
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
    try:
        yield aside
        aside.chmod(_FOLDER_MODE)
        for folder, _, _ in os.walk(aside):
            _flush(Path(folder))
        _rename(aside, target)
        _flush(target.parent)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def copy_files(
    root: Path, files: Iterable[TaskFile], empty_folders: Iterable[str], to: Path, *, replaced: Mapping[str, bytes]
) -> None:
    """Copies files byte for byte, with their run bits and whatever the umask; links stay links.

    Args:
        root: The task folder they are read from.
        files: Which ones.
        empty_folders: Folders to create.
        to: An existing folder.
        replaced: New contents by path.

    Raises:
        TaskError: A file is not what it was when the task was read.
    """
    made = {""}
    for path in empty_folders:
        _make_folder(to, path, made)
    for file in files:
        _make_folder(to, file.path.rpartition("/")[0], made)
        target = f"{to}/{file.path}"
        if file.link:
            os.symlink(file.link, target)  # noqa: PTH211 - joining paths costs more than making the link
            continue
        with open(target, "xb", buffering=0) as sink:  # noqa: PTH123 - likewise
            if file.path in replaced:
                _write_all(sink, replaced[file.path])
            else:
                for chunk in checked_chunks(root, file):
                    _write_all(sink, chunk)
            os.fchmod(sink.fileno(), 0o755 if file.executable else 0o644)
            os.fsync(sink.fileno())


def checked_chunks(root: Path, file: TaskFile) -> Iterator[bytes]:
    """A plain file's bytes.

    Raises:
        TaskError: They are not (at the end: were not) the bytes that the task was read with.
    """
    digest, left = hashlib.sha256(), file.size
    descriptor = plain_descriptor(root, file.path)
    try:
        while chunk := os.read(descriptor, min(CHUNK, left + 1)):
            left -= len(chunk)
            digest.update(chunk)
            if left < 0:
                break
            yield chunk
    finally:
        os.close(descriptor)
    if left != 0 or digest.hexdigest() != file.sha256:
        raise TaskError("has changed since the task was read; read the task again", file=file.path)


def _write_all(sink: FileIO, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[sink.write(view) :]


def _make_folder(root: Path, path: str, made: set[str]) -> None:
    if path not in made:
        _make_folder(root, path.rpartition("/")[0], made)
        folder = root / path
        folder.mkdir()
        folder.chmod(_FOLDER_MODE)
        made.add(path)


def _rename(aside: Path, target: Path) -> None:
    try:
        aside.rename(target)
    except OSError as error:
        if os.path.lexists(target):
            raise TaskError("somebody else made this folder in the meantime", file=target) from error
        raise


def _flush(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
