"""Copies and removes what an overlay wrote (its *upper* folder); standard library only: the launcher imports this.

An upper folder holds changed files, a character device 0/0 (a *whiteout*) for each deleted one, and marks folders whose
lower content is hidden (*opaque*). A frozen layer keeps the same form, so that it can lie under another overlay.
"""

from __future__ import annotations

import os
import stat

from sandbox.bubblewrap import syscalls, wire

OPAQUE = "user.overlay.opaque"
_OVERLAY = "user.overlay."
_CHUNK = 1 << 24


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
            _merge(str(earlier), layer, link=True)
        _merge(str(upper), layer, link=False)
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


def _merge(source: str, target: str, *, link: bool) -> None:
    """Lays one layer over another: what is in `source` wins."""
    links: dict[tuple[int, int], str] = {}
    _merge_folder(source, target, links, link=link)


def _merge_folder(source: str, target: str, links: dict[tuple[int, int], str], *, link: bool) -> None:
    with os.scandir(source) as entries:
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            goal = f"{target}/{entry.name}"
            if not stat.S_ISDIR(status.st_mode):
                remove_tree(goal)
                _copy_leaf(entry.path, goal, status, links, link=link)
                continue
            opaque = OPAQUE in os.listxattr(entry.path, follow_symlinks=False)
            if opaque or not _is_folder(goal):
                remove_tree(goal)
                os.mkdir(goal)
            _merge_folder(entry.path, goal, links, link=link)
            _copy_metadata(entry.path, goal, status)
            if opaque:
                os.setxattr(goal, OPAQUE, b"y")
    _copy_metadata(source, target, os.stat(source))


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def _copy_leaf(
    source: str, target: str, status: os.stat_result, links: dict[tuple[int, int], str], *, link: bool
) -> None:
    if link:
        os.link(source, target, follow_symlinks=False)
        return
    inode = (status.st_dev, status.st_ino)
    if status.st_nlink > 1 and inode in links:
        os.link(links[inode], target, follow_symlinks=False)
        return
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFREG:
        _copy_content(source, target)
    elif kind == stat.S_IFLNK:
        os.symlink(os.readlink(source), target)
    elif kind == stat.S_IFCHR and status.st_rdev == 0:
        os.mknod(target, status.st_mode, 0)
    elif kind == stat.S_IFIFO:
        os.mkfifo(target, 0o600)
    else:  # a socket: nobody listens on a copy of it; other devices cannot be made in a sandbox
        return
    _copy_metadata(source, target, status)
    if status.st_nlink > 1:
        links[inode] = target


def _copy_metadata(source: str, target: str, status: os.stat_result) -> None:
    os.chown(target, status.st_uid, status.st_gid, follow_symlinks=False)
    if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
        for name in os.listxattr(source, follow_symlinks=False):
            if name.startswith("user.") and not name.startswith(_OVERLAY):
                os.setxattr(target, name, os.getxattr(source, name, follow_symlinks=False), follow_symlinks=False)
    if not stat.S_ISLNK(status.st_mode):
        os.chmod(target, stat.S_IMODE(status.st_mode))
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns), follow_symlinks=False)


def _copy_content(source: str, target: str) -> None:
    reader = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    writer = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        while os.sendfile(writer, reader, None, _CHUNK):
            pass
    finally:
        os.close(reader)
        os.close(writer)
