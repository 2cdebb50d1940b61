"""Archives of a sandbox's files, out and in; standard library only: the launcher imports this.

As in `sandbox.bubblewrap.transfer`, the process that does it has joined the sandbox's mounts, so that no name and no
link of an archive can lead out of it.
"""

from __future__ import annotations

import codecs
import errno
import os
import stat
import tarfile  # here, so that the launcher has it: each child that imports it for itself loses tens of milliseconds

from sandbox.bubblewrap import transfer, wire
from sandbox.bubblewrap.layers import remove_tree
from sandbox.bubblewrap.transfer import Budget, RefusedError

TYPE_CHECKING = False  # `typing` would only make the launcher larger
if TYPE_CHECKING:
    from typing import BinaryIO

_BLOCK = 512
_CHUNK = 1 << 20
_NOT_PACKED = ("/proc", "/sys", "/dev")  # of the machine, not files of the sandbox


def pack(body: wire.Body, fds: dict[str, int]) -> None:
    """Writes an archive of `body["paths"]` to the descriptor `out`."""
    _prepare()
    transfer.join(fds)
    paths = body["paths"]
    assert isinstance(paths, list)  # noqa: S101 - written by the host
    with open(fds["out"], "wb", _CHUNK) as out:
        writer = _Writer(out, Budget(int(str(body["max_bytes"]))))
        for path in sorted({os.path.normpath(f"/{path}".replace("//", "/")) for path in paths}):
            try:
                folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except (FileNotFoundError, NotADirectoryError):
                continue
            writer.add(os.path.basename(path) or ".", path, folder)
            os.close(folder)
        out.write(bytes(2 * _BLOCK))
    wire.report(fds["report"], done=True)


class _Writer:
    """Writes the entries of an archive."""

    def __init__(self, out: BinaryIO, budget: Budget) -> None:
        self._out = out
        self._budget = budget

    def add(self, name: str, path: str, folder: int) -> None:
        """Adds what is called `name` in an open folder, with all below it."""
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode):
                self._add_file(transfer.open_plain(name, folder), path)
            elif stat.S_ISLNK(status.st_mode):
                self._header(path, status, tarfile.SYMTYPE, link=os.readlink(name, dir_fd=folder))
            elif stat.S_ISDIR(status.st_mode):
                self._add_folder(os.open(name, transfer.FOLDER, dir_fd=folder), path, status)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):  # never there, or gone meanwhile
            return

    def _add_folder(self, folder: int, path: str, status: os.stat_result) -> None:
        try:
            self._header(path, status, tarfile.DIRTYPE)
            for name in sorted(os.listdir(folder)):
                below = f"{path.rstrip('/')}/{name}"
                if below not in _NOT_PACKED:
                    self.add(name, below, folder)
        finally:
            os.close(folder)

    def _add_file(self, file: int, path: str) -> None:
        try:
            status = os.fstat(file)
            self._header(path, status, tarfile.REGTYPE, size=status.st_size)
            left = status.st_size
            while left and (data := os.read(file, min(left, _CHUNK))):
                self._out.write(data)
                left -= len(data)
            while left:  # it has just become shorter
                left -= self._out.write(bytes(min(left, _CHUNK)))
            self._out.write(bytes(-status.st_size % _BLOCK))
        finally:
            os.close(file)

    def _header(self, path: str, status: os.stat_result, kind: bytes, *, size: int = 0, link: str = "") -> None:
        self._budget.take(size + _BLOCK, path)
        info = tarfile.TarInfo(path.lstrip("/") or ".")
        info.type, info.size, info.linkname = kind, size, link
        info.mode, info.mtime = stat.S_IMODE(status.st_mode), int(status.st_mtime)
        info.uid, info.gid = status.st_uid, status.st_gid
        self._out.write(info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape"))


def unpack_over(body: wire.Body, fds: dict[str, int]) -> None:
    """Lays the archive of the descriptor `archive` over the sandbox's files."""
    del body
    _prepare()
    transfer.join(fds)
    folders: list[tuple[str, float]] = []
    try:
        with open(fds["archive"], "rb") as file, tarfile.open(fileobj=file, mode="r:") as archive:
            for member in archive:
                archive.__dict__["members"].clear()  # or a large archive's would all stay in memory
                parts = _parts(member.name)
                if parts and (member.isreg() or member.isdir() or member.issym() or member.islnk()):
                    _lay_one(archive, member, "/" + "/".join(parts))
                    if member.isdir():
                        folders.append(("/" + "/".join(parts), member.mtime))
    except (tarfile.TarError, EOFError) as error:
        raise RefusedError(f"the archive is broken: {error}") from error
    for path, moment in reversed(folders):  # what came into a folder has touched it
        os.utime(path, (moment, moment), follow_symlinks=False)
    wire.report(fds["report"], done=True)


def _parts(name: str) -> list[str]:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise RefusedError(f"{name}: an entry that may leave the root; names in an archive must have no '..'")
    return parts


def _lay_one(archive: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
    folder, name = transfer.open_parent(path)
    try:
        if member.isdir():
            os.close(transfer.enter(folder, name))
        elif member.issym():
            transfer.write_link(member.linkname, folder, name)
        elif member.islnk():
            remove_tree(name, dir_fd=folder)
            os.link("/" + "/".join(_parts(member.linkname)), name, dst_dir_fd=folder, follow_symlinks=False)
            return
        else:
            _write(archive, member, folder, name)
        for ids in ((member.uid, -1), (-1, member.gid)):
            _give(name, folder, *ids)
        if not member.issym():
            os.chmod(name, stat.S_IMODE(member.mode), dir_fd=folder)
        os.utime(name, (member.mtime, member.mtime), dir_fd=folder, follow_symlinks=False)
    finally:
        os.close(folder)


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: int, name: str) -> None:
    source = archive.extractfile(member)
    assert source is not None  # noqa: S101 - a plain file

    def fill(target: int) -> None:
        while data := source.read(_CHUNK):
            view = memoryview(data)
            while view:
                view = view[os.write(target, view) :]
        remove_tree(name, dir_fd=folder)

    transfer.write_beside(folder, name, fill)


def _give(name: str, folder: int, uid: int, gid: int) -> None:
    """Gives a file to a user or a group; to root where the sandbox has no such id."""
    try:
        os.chown(name, uid, gid, dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EPERM, errno.EOVERFLOW):
            raise
        os.chown(name, min(uid, 0), min(gid, 0), dir_fd=folder, follow_symlinks=False)


def _prepare() -> None:
    """Loads all that `tarfile` may need later: inside, nothing can be imported any more."""
    for encoding in ("ascii", "iso8859-1", "utf-8"):
        codecs.lookup(encoding)
