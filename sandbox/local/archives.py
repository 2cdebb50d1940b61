"""Tar archives of files of this machine, as `Sandbox.pack` and `Sandbox.unpack` have them."""

from __future__ import annotations

import os
import stat
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.errors import TransferError
from sandbox.local.trees import Budget, remove

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def pack(paths: Sequence[str], target: Path, budget: Budget) -> None:
    """See `Sandbox.pack`.

    Raises:
        TransferError: Too large, or a file cannot be read.
    """
    with tarfile.open(target, "w:", format=tarfile.PAX_FORMAT, errors="surrogateescape") as archive:
        for path in paths:
            for each in _below(Path(path)):
                name = str(each).lstrip("/")
                try:
                    member = archive.gettarinfo(str(each), arcname=name)
                    budget.take(member.size if member.isreg() else 0, each)
                    if not member.isreg():
                        archive.addfile(member)
                        continue
                    with each.open("rb") as file:
                        archive.addfile(member, file)
                except OSError as error:
                    raise TransferError(f"pack of {each}: {error.strerror}") from error


def unpack(archive: Path) -> None:
    """See `Sandbox.unpack`.

    Raises:
        TransferError: No such archive, or an entry leaves the root.
    """
    try:
        with tarfile.open(archive, "r:", errors="surrogateescape") as packed:
            members = packed.getmembers()
            for member in members:
                if ".." in member.name.split("/") or member.ischr() or member.isblk():
                    raise TransferError(
                        f"unpack of {archive}: the entry {member.name!r} leaves the root, or is a device"
                    )
            for member in members:
                _lay(packed, member)
            for member in reversed(members):  # the times of folders, once everything lies in them
                if member.isdir():
                    os.utime(f"/{member.name.lstrip('/')}", (member.mtime, member.mtime))
    except (OSError, tarfile.TarError, EOFError) as error:
        raise TransferError(f"unpack of {archive}: {error}") from error


def _lay(packed: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    target = Path(f"/{member.name.lstrip('/')}")
    if not (member.isdir() and target.is_dir() and not target.is_symlink()):
        remove(target)
    packed.extract(member, "/", numeric_owner=True, filter="fully_trusted")
    if member.issym():
        os.utime(target, (member.mtime, member.mtime), follow_symlinks=False)


def _below(path: Path) -> Iterator[Path]:
    """A path and, if it is a folder, all in it, parents first; without devices, pipes and sockets."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if stat.S_ISDIR(mode):
        yield path
        for entry in sorted(path.iterdir()):
            yield from _below(entry)
    elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
        yield path
