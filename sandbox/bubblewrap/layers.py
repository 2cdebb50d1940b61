"""Copies and removes what an overlay wrote (its *upper* folder); standard library only: the launcher imports this.

An upper folder holds changed files, a character device 0/0 (a *whiteout*) for each deleted one, and marks folders whose
lower content is hidden (*opaque*). A frozen layer keeps the same form, so that it can lie under another overlay.
"""

from __future__ import annotations

import errno
import os
import stat

from sandbox.bubblewrap import syscalls, wire

OPAQUE = "user.overlay.opaque"
_OVERLAY = "user.overlay."
_CHUNK = 1 << 24
_GONE = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP))  # just now, or become something else
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def freeze(body: wire.Body, fds: dict[str, int]) -> None:
    """Writes a layer: a copy of an upper folder on top of the layer the sandbox was started from, if any.

    Files of the earlier layer are linked, not copied: frozen layers never change.
    """
    syscalls.setns(fds["userns"], syscalls.CLONE_NEWUSER)
    target = str(body["target"])
    parts = body["parts"]
    assert isinstance(parts, list)  # noqa: S101 - written by the host
    os.mkdir(target)
    for name, upper, earlier in parts:
        layer = f"{target}/{name}"
        os.mkdir(layer)
        if earlier:
            _Merge(str(earlier), layer, link=True).run()
        _Merge(str(upper), layer, link=False).run()
    wire.report(fds["report"], done=True)


def remove(body: wire.Body, fds: dict[str, int]) -> None:
    """Removes folders, whatever their modes and owners; those that are not there are no error."""
    if "userns" in fds:
        syscalls.setns(fds["userns"], syscalls.CLONE_NEWUSER)
    paths = body["paths"]
    assert isinstance(paths, list)  # noqa: S101 - written by the host
    for path in paths:
        remove_tree(str(path))
    wire.report(fds["report"], done=True)


def remove_tree(path: str, *, dir_fd: int | None = None) -> None:
    """Removes a file, a link or a folder with all below it; links are not followed."""
    try:
        if not stat.S_ISDIR(os.stat(path, dir_fd=dir_fd, follow_symlinks=False).st_mode):
            os.unlink(path, dir_fd=dir_fd)
            return
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=dir_fd)
        try:
            with os.scandir(folder) as entries:
                names = [entry.name for entry in entries]
            for name in names:
                remove_tree(name, dir_fd=folder)
        finally:
            os.close(folder)
        os.rmdir(path, dir_fd=dir_fd)
    except FileNotFoundError:
        return


class _Merge:
    """Lays one layer over another: what is in the source wins.

    All is done by descriptor, and no link followed: the sandbox may be running, and may put links in the way.

    Args:
        source: The folder that wins.
        target: The folder it is laid over.
        link: Whether files are linked, not copied.
    """

    def __init__(self, source: str, target: str, *, link: bool) -> None:
        self._link = link
        self._source, self._target = os.open(source, _FOLDER), os.open(target, _FOLDER)
        self._links: dict[tuple[int, int], str] = {}

    def run(self) -> None:
        """Does it."""
        self._folder(self._source, self._target, "")
        os.close(self._source)
        os.close(self._target)

    def _folder(self, source: int, target: int, inside: str) -> None:
        """One folder; `inside` is its path below the whole."""
        for name in os.listdir(source):
            try:
                status = os.stat(name, dir_fd=source, follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    self._subfolder(name, source, target, f"{inside}{name}/")
                else:
                    remove_tree(name, dir_fd=target)
                    self._leaf(name, source, target, status, f"{inside}{name}")
            except OSError as error:
                if error.errno not in _GONE:
                    raise
        status = os.fstat(source)
        _copy_attributes(source, target)
        _copy_owner_and_times(target, status)

    def _subfolder(self, name: str, source: int, target: int, inside: str) -> None:
        below = os.open(name, _FOLDER, dir_fd=source)
        try:
            opaque = OPAQUE in os.listxattr(below)
            if opaque or not _is_folder(name, target):
                remove_tree(name, dir_fd=target)
                os.mkdir(name, dir_fd=target)
            goal = os.open(name, _FOLDER, dir_fd=target)
            try:
                self._folder(below, goal, inside)
                if opaque:
                    os.setxattr(goal, OPAQUE, b"y")
            finally:
                os.close(goal)
        finally:
            os.close(below)

    def _leaf(self, name: str, source: int, target: int, status: os.stat_result, inside: str) -> None:
        """A file, a link, a pipe or a whiteout."""
        if self._link:
            os.link(name, name, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
            return
        inode = (status.st_dev, status.st_ino)
        if status.st_nlink > 1 and inode in self._links:
            try:
                os.link(self._links[inode], name, src_dir_fd=self._target, dst_dir_fd=target, follow_symlinks=False)
            except OSError as error:
                if error.errno != errno.ENAMETOOLONG:  # so deep that no path leads there: a copy, then
                    raise
            else:
                return
        if stat.S_ISREG(status.st_mode):
            _copy_file(name, source, target)
        elif not _copy_special(name, source, target, status):
            return
        if status.st_nlink > 1:
            self._links[inode] = inside


def _is_folder(name: str, folder: int) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _copy_file(name: str, source: int, target: int) -> None:
    """Copies a plain file; one that has become something else meanwhile is left out."""
    reader = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=source)
    try:
        status = os.fstat(reader)
        if not stat.S_ISREG(status.st_mode):
            return
        writer = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=target)
        try:
            while os.sendfile(writer, reader, None, _CHUNK):
                pass
            _copy_attributes(reader, writer)
            _copy_owner_and_times(writer, status)
        finally:
            os.close(writer)
    finally:
        os.close(reader)


def _copy_special(name: str, source: int, target: int, status: os.stat_result) -> bool:
    """Copies a link, a pipe or a whiteout; says whether it was one."""
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFCHR and status.st_rdev == 0:
        os.mknod(name, status.st_mode, 0, dir_fd=target)
        return True
    if kind == stat.S_IFLNK:
        try:
            link = os.readlink(name, dir_fd=source)
        except OSError:  # has just become something else
            return False
        os.symlink(link, name, dir_fd=target)
    elif kind == stat.S_IFIFO:
        os.mkfifo(name, 0o600, dir_fd=target)
        os.chmod(name, stat.S_IMODE(status.st_mode), dir_fd=target)
    else:  # a socket: nobody listens on a copy of it; other devices cannot be made in a sandbox
        return False
    os.chown(name, status.st_uid, status.st_gid, dir_fd=target, follow_symlinks=False)
    os.utime(name, ns=(status.st_atime_ns, status.st_mtime_ns), dir_fd=target, follow_symlinks=False)
    return True


def _copy_attributes(source: int, target: int) -> None:
    for name in os.listxattr(source):
        if name.startswith("user.") and not name.startswith(_OVERLAY):
            os.setxattr(target, name, os.getxattr(source, name))


def _copy_owner_and_times(target: int, status: os.stat_result) -> None:
    os.fchown(target, status.st_uid, status.st_gid)
    os.fchmod(target, stat.S_IMODE(status.st_mode))
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
