"""Whole trees between this machine and a container: what goes in, what comes out, and what is refused."""

from __future__ import annotations

import os
import posixpath
import shutil
import stat
import tarfile
import tempfile
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from sandbox.docker.archives import NewArchive, placing
from sandbox.errors import TransferError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sandbox.docker.archives import Archives

_ENTRY_BYTES = 64  # counted for each name, so that names alone cannot be endless
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_SET_ANEW = ("path", "linkpath", "size")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def upload(archives: Archives, source: Path, target: str) -> None:
    """See `Sandbox.upload`."""
    try:
        source = source.resolve()
        mode = source.lstat().st_mode
    except OSError as error:
        raise TransferError(f"{source}: nothing there") from error
    folder, missing, name = placing(archives, target)
    with tempfile.TemporaryFile() as file:
        if stat.S_ISDIR(mode):
            found = archives.status(target)
            if found is not None and found.is_folder:  # its owner and permissions stay as they are
                folder, prefix = target, ""
                new = NewArchive(file, [])
            else:
                prefix = f"{name}/"
                new = NewArchive(file, missing)
                new.folder(name)
            _add_tree(new, source, prefix)
        else:
            new = NewArchive(file, missing)
            _add_file(new, source, source.name, name)
        new.finish()
        file.seek(0)
        archives.put(folder, file)


def download(archives: Archives, source: str, target: Path, max_bytes: int) -> None:
    """See `Sandbox.download`."""
    if archives.status(source) is None:
        raise TransferError(f"{source}: nothing there")
    try:
        target.absolute().parent.mkdir(parents=True, exist_ok=True)
        home = os.open(target.absolute().parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise TransferError(f"download to {target}: {error.strerror}") from error
    budget = Budget(max_bytes)
    try:
        with archives.reading(source) as archive:
            for entry in archive:
                parts = [target.name, *_parts(_below(source, entry.name))]
                linked = [target.name, *_parts(_below(source, entry.linkname))] if entry.islnk() else []
                _receive(archive, entry, (home, parts, linked), budget)
    except OSError as error:
        raise TransferError(f"download of {source} to {target}: {error.strerror}") from error
    finally:
        os.close(home)


def pack(archives: Archives, paths: Sequence[str], target: Path, max_bytes: int) -> None:
    """See `Sandbox.pack`; the archive appears whole or not at all."""
    aside = target.with_name(f".{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(aside, "w", format=tarfile.PAX_FORMAT, errors="surrogateescape") as packed:
            budget, seen = Budget(max_bytes), {"."}
            for path in paths:
                _pack_one(archives, posixpath.normpath("/" + path.lstrip("/")), packed, budget, seen)
        aside.replace(target)
    except (OSError, tarfile.TarError) as error:
        raise TransferError(f"packing to {target}: {error}") from error
    finally:
        aside.unlink(missing_ok=True)


def _pack_one(archives: Archives, path: str, packed: tarfile.TarFile, budget: Budget, seen: set[str]) -> None:
    """Adds one path, under the names that its files have in the sandbox."""
    if archives.status(path) is None:
        return
    with archives.reading(path) as archive:
        for entry in archive:
            entry.name = _inside(path, entry.name)
            if entry.islnk():
                entry.linkname = _inside(path, entry.linkname)
            if entry.name in seen or entry.ischr() or entry.isblk():
                continue
            seen.add(entry.name)
            budget.take(entry.size + len(entry.name) + _ENTRY_BYTES, f"/{entry.name}")
            entry.pax_headers = {k: v for k, v in entry.pax_headers.items() if k not in _SET_ANEW}
            packed.addfile(entry, archive.extractfile(entry) if entry.isreg() else None)


def _inside(path: str, name: str) -> str:
    """The path in the sandbox, without its slash, of a name in the archive of `path`."""
    return posixpath.join(path, _below(path, name)).strip("/") or "."


def _below(path: str, name: str) -> str:
    """Where a name in the archive of `path` lies below that; all begin with its last component, if it has one."""
    return name.strip("/") if posixpath.normpath(path) in ("/", "//") else name.strip("/").partition("/")[2]


def unpack(archives: Archives, source: Path) -> None:
    """See `Sandbox.unpack`."""
    try:
        with tarfile.open(source, "r:", errors="surrogateescape") as archive:
            for entry in archive:
                if entry.name.startswith("/") or ".." in entry.name.split("/"):
                    raise TransferError(f"{source}: the entry {entry.name!r} leaves the root")
                if entry.islnk() and ".." in entry.linkname.split("/"):
                    raise TransferError(f"{source}: the entry {entry.name!r} links out of the root")
        with source.open("rb") as file:
            archives.put("/", file)
    except (OSError, tarfile.TarError) as error:
        raise TransferError(f"{source}: {error}") from error


class Budget:
    """Bytes that may still be copied.

    Args:
        limit: How many in all.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = limit

    def take(self, count: int, path: str) -> None:
        """Counts bytes.

        Raises:
            TransferError: More than allowed in all.
        """
        self._left -= count
        if self._left < 0:
            raise TransferError(f"{path}: more than {self._limit} bytes in all")


def _add_tree(new: NewArchive, root: Path, prefix: str) -> None:
    """Adds what is in a folder of this machine; `prefix` is where it goes."""
    for folder, names, files in os.walk(root, onerror=_refuse):
        inside = os.path.relpath(folder, root)
        inside = "" if inside == "." else f"{inside}/"
        names.sort()
        for name in sorted(names + files):
            path = f"{inside}{name}"
            mode = os.lstat(f"{folder}/{name}").st_mode
            if stat.S_ISLNK(mode):
                new.link(prefix + path, _checked_link(f"{folder}/{name}", path))
            elif stat.S_ISDIR(mode):
                new.folder(prefix + path)
            else:
                _add_file(new, f"{folder}/{name}", path, prefix + path)


def _refuse(error: OSError) -> None:
    raise TransferError(f"{error.filename}: {error.strerror}")


def _checked_link(file: str, path: str) -> str:
    link = os.readlink(file)  # noqa: PTH115 - bytes that are no UTF-8 stay as they are
    goal = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
    if link.startswith("/") or goal == ".." or goal.startswith("../"):
        raise TransferError(f"{path}: a link that leaves the folder ({link})")
    return link


def _add_file(new: NewArchive, file: str | Path, shown: str, path: str) -> None:
    try:
        fd = os.open(file, _FILE)
    except OSError as error:
        raise TransferError(f"{shown}: a pipe, a socket or a device, or not to be read: {error.strerror}") from error
    with os.fdopen(fd, "rb") as content:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise TransferError(f"{shown}: a pipe, a socket or a device, not a plain file")
        try:
            new.file(path, content, status.st_size, _run_bit(status.st_mode))
        except OSError as error:
            raise TransferError(f"{shown}: {error}") from error


def _run_bit(mode: int) -> int:
    return 0o755 if mode & 0o111 else 0o644


def _parts(path: str) -> list[str]:
    parts = [part for part in path.split("/") if part]
    if any(part in (".", "..") for part in parts):
        raise TransferError(f"{path}: a name that climbs")
    return parts


def _receive(
    archive: tarfile.TarFile, entry: tarfile.TarInfo, place: tuple[int, list[str], list[str]], budget: Budget
) -> None:
    """Writes one entry below a folder of this machine, through no link that is there; a pipe or a device is left out.

    Args:
        archive: Where it comes from.
        entry: What it is.
        place: The open folder, the way to the entry below it, and to the file of which it is a further name.
        budget: What may still come.
    """
    home, parts, linked = place
    shown = "/" + "/".join(parts[1:]) if parts[1:] else parts[0]
    budget.take(entry.size + (len(parts[-1]) + _ENTRY_BYTES if parts[1:] else 0), entry.name)
    at = os.dup(home)
    try:
        for part in parts[:-1]:
            below = _enter(at, part)
            os.close(at)
            at = below
        name = parts[-1]
        if entry.isdir():
            os.close(_enter(at, name))
        elif entry.issym():
            _make_way(at, name)
            os.symlink(entry.linkname, name, dir_fd=at)
        elif entry.isreg():
            content = archive.extractfile(entry)
            assert content is not None  # noqa: S101 - a plain file has one
            _write(content, at, name, _run_bit(entry.mode))
        elif entry.islnk():
            _make_way(at, name)
            with suppress(FileNotFoundError):  # a further name of a pipe, say, which was left out
                _copy_linked(home, linked, (at, name), budget)
        elif not parts[1:]:
            raise TransferError(f"/{entry.name}: a pipe, a socket or a device, not a plain file ({shown})")
    finally:
        os.close(at)


def _copy_linked(home: int, linked: list[str], place: tuple[int, str], budget: Budget) -> None:
    """A further name of a file that came before becomes a copy of it: a link could be of a file of this machine."""
    *folders, last = linked
    source = os.dup(home)
    for folder in folders:
        below = os.open(folder, _FOLDER, dir_fd=source)
        os.close(source)
        source = below
    try:
        fd = os.open(last, _FILE, dir_fd=source)
    finally:
        os.close(source)
    with os.fdopen(fd, "rb") as content:
        status = os.fstat(fd)
        budget.take(status.st_size, linked[-1])
        _write(content, *place, _run_bit(status.st_mode))


def _write(content: IO[bytes], folder: int, name: str, mode: int) -> None:
    _make_way(folder, name)
    fd = os.open(name, _NEW, 0o600, dir_fd=folder)
    with os.fdopen(fd, "wb") as file:
        shutil.copyfileobj(content, file, 1 << 20)
        os.fchmod(fd, mode)


def _enter(folder: int, name: str) -> int:
    """Opens a folder; what is there under that name and is none, a link too, makes way."""
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        pass
    except OSError:
        os.unlink(name, dir_fd=folder)
    os.mkdir(name, 0o755, dir_fd=folder)
    return os.open(name, _FOLDER, dir_fd=folder)


def _make_way(folder: int, name: str) -> None:
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise TransferError(f"{name}: a folder lies where the file is to go")
    os.unlink(name, dir_fd=folder)
