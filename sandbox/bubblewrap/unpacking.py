"""Layers of images: laid over a root folder, and whole roots packed; standard library only: the launcher imports this.

An archive is somebody else's. It is unpacked by a process that has made the root folder its own root, so that neither
names, nor links, nor `..` lead out of it; devices are left out, for a sandbox has its own; everything that an overlay
could take for a mark of its own (character devices, `user.overlay.*`) is left out as well.
"""

from __future__ import annotations

import codecs
import os
import stat
import sys

from sandbox.bubblewrap import syscalls, wire
from sandbox.bubblewrap.layers import remove_tree
from sandbox.bubblewrap.transfer import Budget, RefusedError

TYPE_CHECKING = False  # `typing` would only make the launcher larger
if TYPE_CHECKING:
    import tarfile

_CHUNK = 1 << 20
_MAX_ENTRIES = 5_000_000
_WHITEOUT = ".wh."
_MARKS = ".wh..wh."
_OPAQUE = ".wh..wh..opq"
_XATTR = "SCHILY.xattr."
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NOT_PACKED = frozenset(("/proc", "/sys", "/dev"))


def lay(body: wire.Body, fds: dict[str, int]) -> None:
    """Lays one layer (a tar archive, descriptor `archive`) over the folder `target`.

    `whiteouts` says whether names that begin with `.wh.` remove what lower layers hold; `ids` whether there are ids
    other than 0; `max_bytes` is all that its files may hold.
    """
    import lzma
    import tarfile
    import zlib

    _load_all()
    syscalls.setns(fds["userns"], syscalls.CLONE_NEWUSER)
    _enter_root(str(body["target"]))
    layer = _Layer(Budget(int(str(body["max_bytes"]))), ids=bool(body["ids"]), whiteouts=bool(body["whiteouts"]))
    try:
        with open(fds["archive"], "rb") as file, tarfile.open(fileobj=file) as archive:
            for member in archive:
                layer.take(archive, member)
                _forget(archive)
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise RefusedError(f"the archive is broken: {error}") from error
    layer.finish()
    wire.report(fds["report"], done=True)


def pack_root(body: wire.Body, fds: dict[str, int]) -> None:
    """Writes a whole root as a tar archive to the descriptor `out`: a sandbox's (`init`), or the folder `source`.

    Sorted, owners as numbers; `/proc`, `/sys` and `/dev` are there and empty; sockets and devices are left out.
    """
    import tarfile

    _load_all()
    if "init" in fds:
        syscalls.join(fds["init"], syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS)
    else:
        if "userns" in fds:
            syscalls.setns(fds["userns"], syscalls.CLONE_NEWUSER)
        _enter_root(str(body["source"]))
    with (
        open(fds["out"], "wb", buffering=_CHUNK) as file,
        tarfile.open(fileobj=file, mode="w|", format=tarfile.PAX_FORMAT, bufsize=_CHUNK) as archive,
    ):
        _pack_folder(archive, "/", {})
    wire.report(fds["report"], done=True)


def _load_all() -> None:
    """Imports what reading an archive may want: not possible any more once inside."""
    for module in ("bz2", "gzip", "lzma", "zlib"):
        __import__(module)
    for encoding in ("ascii", "iso8859-1", "utf-8"):
        codecs.lookup(encoding)


def _enter_root(folder: str) -> None:
    sys.meta_path.clear()  # from here on paths lead into the folder: an import would run somebody's code
    os.chroot(folder)
    os.chdir("/")


def _forget(archive: tarfile.TarFile) -> None:
    """Or the entries of a large archive would all stay in memory."""
    members: list[tarfile.TarInfo] = archive.__dict__["members"]
    members.clear()


class _Layer:
    def __init__(self, budget: Budget, *, ids: bool, whiteouts: bool) -> None:
        self._budget = budget
        self._ids = ids
        self._whiteouts = whiteouts
        self._written: set[str] = set()
        self._folders: dict[str, tarfile.TarInfo] = {}
        self._count = 0

    def take(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        """Lays one entry."""
        self._count += 1
        if self._count > _MAX_ENTRIES:
            raise RefusedError(f"{member.name!r}: more than {_MAX_ENTRIES} entries")
        path = _inside(member.name)
        try:
            if self._whiteouts and os.path.basename(path).startswith(_WHITEOUT):
                self._white_out(path)
                return
            if member.ischr() or member.isblk():
                return
            self._make_parents(path)
            self._make(archive, member, path)
        except (OSError, ValueError, OverflowError) as error:  # the latter two: numbers and names that no system has
            raise RefusedError(f"{member.name!r}: {getattr(error, 'strerror', None) or error}") from error
        self._written.add(path)

    def finish(self) -> None:
        """Gives folders their owners, modes and times: what was put into them has changed the latter."""
        for path, member in sorted(self._folders.items(), reverse=True):
            try:
                if _is_folder(path):
                    self._describe(path, member)
            except (OSError, ValueError, OverflowError) as error:
                raise RefusedError(f"{member.name!r}: {getattr(error, 'strerror', None) or error}") from error

    def _make(self, archive: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
        if member.isdir():
            if path != "/" and not _is_folder(path):
                remove_tree(path)
                os.mkdir(path, 0o755)
            self._folders[path] = member
            return
        if path == "/":
            raise RefusedError(f"{member.name!r}: the root is no folder")
        if member.islnk():
            self._link(member, path)
            return
        remove_tree(path)
        self._folders.pop(path, None)
        if member.issym():
            os.symlink(member.linkname, path)
        elif member.isfifo():
            os.mkfifo(path, 0o600)
        elif member.isreg():
            self._copy(archive, member, path)
        else:
            raise RefusedError(f"{member.name!r}: an entry of a kind that is not known ({member.type!r})")
        self._describe(path, member)

    def _link(self, member: tarfile.TarInfo, path: str) -> None:
        source = _inside(member.linkname)
        if source == path:
            return
        if not os.path.lexists(source) or _is_folder(source):
            raise RefusedError(f"{member.name!r}: a hard link to {member.linkname!r}, which is no file of the image")
        remove_tree(path)
        os.link(source, path, follow_symlinks=False)

    def _copy(self, archive: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
        self._budget.take(member.size, repr(member.name))
        content = archive.extractfile(member)
        target = os.open(path, _NEW, 0o600)
        try:
            while content is not None and (data := content.read(_CHUNK)):
                view = memoryview(data)
                while view:
                    view = view[os.write(target, view) :]
        finally:
            os.close(target)

    def _describe(self, path: str, member: tarfile.TarInfo) -> None:
        owner = (member.uid, member.gid) if self._ids else (0, 0)
        os.chown(path, *owner, follow_symlinks=False)
        if not member.issym():
            for name, value in member.pax_headers.items():
                attribute = name.removeprefix(_XATTR)
                if name.startswith(f"{_XATTR}user.") and not attribute.startswith("user.overlay."):
                    os.setxattr(path, attribute, value.encode("utf-8", "surrogateescape"))
            os.chmod(path, member.mode & 0o7777)
        moment = int(member.mtime * 1_000_000_000)
        os.utime(path, ns=(moment, moment), follow_symlinks=False)

    def _make_parents(self, path: str) -> None:
        parent = os.path.dirname(path)
        if not os.path.isdir(parent):
            self._make_parents(parent)
            if os.path.lexists(parent):
                remove_tree(parent)
            os.mkdir(parent, 0o755)

    def _white_out(self, path: str) -> None:
        folder, name = os.path.split(path)
        if name == _OPAQUE:
            self._empty(folder)
            return
        if name.startswith(_MARKS):
            return
        hidden = name.removeprefix(_WHITEOUT)
        if hidden in ("", ".", ".."):
            raise RefusedError(f"{path.lstrip('/')!r}: a whiteout of nothing")
        target = f"{folder.rstrip('/')}/{hidden}"
        if target not in self._written:
            remove_tree(target)
        elif _is_folder(target):
            self._empty(target)

    def _empty(self, folder: str) -> None:
        """Removes what lower layers hold in a folder; this layer's own stays."""
        if not _is_folder(folder):
            return
        for name in os.listdir(folder):
            path = f"{folder.rstrip('/')}/{name}"
            if path in self._written:
                if _is_folder(path):
                    self._empty(path)
            elif any(own.startswith(f"{path}/") for own in self._written):
                self._empty(path)
            else:
                remove_tree(path)


def _inside(name: str) -> str:
    """The absolute path of a name, `..` taken out: `../../a` is `/a`."""
    return os.path.normpath(f"/{name}").replace("//", "/")


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _pack_folder(archive: tarfile.TarFile, folder: str, links: dict[tuple[int, int], str]) -> None:
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names:
        path = f"{folder.rstrip('/')}/{name}"
        status = os.lstat(path)
        if stat.S_ISSOCK(status.st_mode) or stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
            continue
        member = archive.gettarinfo(path, path.lstrip("/"))
        member.uname = member.gname = ""
        member.mtime = int(member.mtime)
        inode = (status.st_dev, status.st_ino)
        if stat.S_ISREG(status.st_mode):  # tarfile's own book-keeping does not tell apart equal numbers on two disks
            member.type, member.linkname, member.size = b"0", "", status.st_size
            if status.st_nlink > 1 and inode in links:
                member.type, member.linkname, member.size = b"1", links[inode], 0
            elif status.st_nlink > 1:
                links[inode] = member.name
        if member.isreg():
            with open(path, "rb") as file:
                archive.addfile(member, file)
        else:
            archive.addfile(member)
        _forget(archive)
        if member.isdir() and path not in _NOT_PACKED:
            _pack_folder(archive, path, links)
