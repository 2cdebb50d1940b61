"""Files and folders copied on this machine by one who trusts no link: counted, replaced, never followed."""

from __future__ import annotations

import io
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox.errors import TransferError

_CHUNK = 1 << 20


class Budget:
    """Bytes that may still be copied.

    Args:
        limit: In all.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = limit

    def take(self, count: int, path: Path) -> None:
        """Counts bytes.

        Raises:
            TransferError: More than allowed in all.
        """
        self._left -= count
        if self._left < 0:
            raise TransferError(f"{path}: more than {self._limit} bytes in all")


def copy_in(source: Path, target: Path, budget: Budget) -> None:
    """Copies a file or a folder, of which no link may leave it; a link that is named itself is followed.

    Raises:
        TransferError: Nothing there, no plain file or folder, a link that leaves it, or too large.
        OSError: The disk refuses.
    """
    origin = source.resolve()
    if not origin.is_file() and not origin.is_dir():
        raise TransferError(f"{source}: neither a plain file nor a folder")
    if origin.is_dir():
        check_links(origin)
    copy(origin, target, budget, inwards=True)


def copy(source: Path, target: Path, budget: Budget, *, inwards: bool) -> None:
    """Copies a file, a folder or a link to a path; what is in the way of the same kind is replaced or merged.

    Outwards, pipes, sockets and devices in a folder are left out.

    Raises:
        TransferError: A device, a pipe or a socket, or too large.
        OSError: The disk refuses.
    """
    mode = source.lstat().st_mode
    if stat.S_ISDIR(mode):
        if target.is_symlink() or not target.is_dir():
            remove(target)
            target.mkdir(parents=True)
        for entry in sorted(source.iterdir()):
            if not inwards and not _can_come_out(entry.lstat().st_mode):
                continue
            copy(entry, target / entry.name, budget, inwards=inwards)
    elif stat.S_ISLNK(mode):
        _clear(target, folders=inwards)
        target.symlink_to(os.readlink(source))  # noqa: PTH115 - Path would tidy it up
    elif stat.S_ISREG(mode):
        run_bits = 0o755 if mode & 0o111 else 0o644
        with open_plain(source) as data:
            _clear(target, folders=inwards)
            with _fresh(target, run_bits) as out:
                while piece := data.read(_CHUNK):
                    budget.take(len(piece), source)
                    out.write(piece)
    elif not (inwards and stat.S_ISSOCK(mode)):
        raise TransferError(f"{source}: a pipe, a socket or a device, not a plain file")


def _can_come_out(mode: int) -> bool:
    return stat.S_ISDIR(mode) or stat.S_ISLNK(mode) or stat.S_ISREG(mode)


def open_plain(path: Path) -> io.FileIO:
    """Opens a plain file without following a link and without waiting.

    Raises:
        FileNotFoundError, IsADirectoryError: Nothing there, or a folder.
        TransferError: A link, or no plain file.
    """
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(21, "is a folder", str(path))
    if not stat.S_ISREG(mode):
        raise TransferError(f"{path}: a link, a pipe, a socket or a device, not a plain file")
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    return io.FileIO(fd)


def write(path: Path, content: bytes, mode: int) -> None:
    """Writes a file beside and moves it over what is there, never through a link.

    Raises:
        TransferError: A folder lies there.
        OSError: The disk refuses, or a parent is no folder.
    """
    _clear(path, folders=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _fresh(path, mode) as out:
        out.write(content)


def remove(path: Path) -> None:
    """Removes whatever is at a path, a link itself; nothing there is fine."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISDIR(mode):
        path.unlink()
        return
    for folder, names, _files in os.walk(path):
        for name in (".", *names):
            inner = Path(folder) / name
            if not inner.is_symlink() and inner.stat().st_mode & stat.S_IRWXU != stat.S_IRWXU:
                inner.chmod(0o700)
    shutil.rmtree(path)


def check_links(root: Path) -> None:
    """Makes sure that no link of a folder leaves it.

    Raises:
        TransferError: One does.
    """
    top = os.path.normpath(root)
    for folder, names, files in os.walk(top):
        for name in (*names, *files):
            path = Path(folder) / name
            if not path.is_symlink():
                continue
            link = os.readlink(path)  # noqa: PTH115 - as it stands
            leads = os.path.normpath(f"{folder}/{link}")
            if link.startswith("/") or not f"{leads}/".startswith(f"{top}/"):
                raise TransferError(f"{path}: a link to {link}, which leaves the folder")


def _clear(target: Path, *, folders: bool) -> None:
    if target.is_dir() and not target.is_symlink():
        if not folders:
            raise TransferError(f"{target}: a folder lies where the file is to go")
        remove(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_symlink():
        target.unlink()


@contextmanager
def _fresh(target: Path, mode: int) -> Iterator[io.FileIO]:
    """A new file that takes the place of what is at `target` when all has been written."""
    aside = target.with_name(f".{target.name[:200]}.{os.getpid()}.part")
    aside.unlink(missing_ok=True)
    with io.FileIO(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as file:
        try:
            yield file
            os.fchmod(file.fileno(), mode)
            aside.rename(target)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
