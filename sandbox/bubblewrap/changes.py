"""Tells what a sandbox changed by the folders that took its writes; standard library only: the launcher imports this.

The written folders of a mount point (its upper one, a snapshot's layer below) are compared, name by name, with the
image's, as overlay itself would look them up. All are entered by descriptor, and no link is followed: the sandbox may
be running, and may put links in the way.
"""

from __future__ import annotations

import marshal
import os
import stat

from sandbox.bubblewrap import syscalls, wire
from sandbox.bubblewrap.layers import OPAQUE

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Found = list[tuple[str, str, str]]


def changes(body: wire.Body, fds: dict[str, int]) -> None:
    """Writes `[path, kind, link target or ""]` of every change to the descriptor `out`.

    `body["mounts"]` has a row for each mount point: its path, the written folders, the image's folders, the topmost of
    each first. `body["under"]` are the paths to look at or below.
    """
    syscalls.setns(fds["userns"], syscalls.CLONE_NEWUSER)
    mounts, under = body["mounts"], body["under"]
    assert isinstance(mounts, list)  # noqa: S101 - written by the host
    assert isinstance(under, list)  # noqa: S101 - likewise
    walk = _Walk([str(path) for path in under], {str(mount) for mount, _written, _image in mounts})
    for mount, written, image in mounts:
        walk.compare(str(mount), written, image)
    view = memoryview(marshal.dumps(sorted(walk.found)))
    while view:
        view = view[os.write(fds["out"], view) :]
    wire.report(fds["report"], done=True)


class _Walk:
    """Goes through the written folders and notes what differs.

    Args:
        under: Paths to look at or below.
        mounts: Every mount point.
    """

    def __init__(self, under: list[str], mounts: set[str]) -> None:
        self._under = under
        self._mounts = mounts
        self.found: Found = []

    def compare(self, mount: str, written: list[str], image: list[str]) -> None:
        """Compares one mount point."""
        if not self._leads(mount):
            return
        ours, theirs = _opened(written), _opened(image)
        try:
            self._folder("" if mount == "/" else mount, ours, theirs, hidden=False)
        finally:
            _close(ours + theirs)

    def _folder(self, path: str, written: list[int], image: list[int], *, hidden: bool) -> None:
        """Compares one folder; `hidden` says that nothing of the image shows through."""
        names = {name for folder in written for name in _names(folder)}
        if hidden:
            names.update(name for folder in image for name in _names(folder))
        for name in names:
            below = f"{path}/{name}"
            if below in self._mounts or not self._leads(below):
                continue
            status, covers, ours = _look(name, written)
            before, _covers, theirs = _look(name, image)
            try:
                kind = _kind(status, before, hidden=hidden or covers)
                if kind and self._wanted(below):
                    is_link = status is not None and stat.S_ISLNK(status.st_mode)
                    self.found.append((below, kind, _target(name, written) if is_link else ""))
                if status is not None and stat.S_ISDIR(status.st_mode):
                    was_folder = before is not None and stat.S_ISDIR(before.st_mode)
                    self._folder(below, ours, theirs if was_folder else [], hidden=hidden or covers)
            finally:
                _close(ours + theirs)

    def _wanted(self, path: str) -> bool:
        return any(goal in ("/", path) or path.startswith(f"{goal}/") for goal in self._under)

    def _leads(self, path: str) -> bool:
        start = "/" if path == "/" else f"{path}/"
        return self._wanted(path) or any(goal.startswith(start) for goal in self._under)


def _kind(status: os.stat_result | None, before: os.stat_result | None, *, hidden: bool) -> str:
    """What became of one name; "" for nothing."""
    if status is None:
        return "removed" if before is not None and hidden else ""
    if before is None:
        return "added"
    if not stat.S_ISDIR(status.st_mode) or not stat.S_ISDIR(before.st_mode):
        return "changed"
    # A folder is written too when only something in it was.
    same = (status.st_mode, status.st_uid, status.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    return "" if same else "changed"


def _look(name: str, folders: list[int]) -> tuple[os.stat_result | None, bool, list[int]]:
    """Looks a name up in folders laid over each other, the topmost first.

    Returns:
        What is there, whether it covers what lies below all of them, and the folders of that name.
    """
    found: os.stat_result | None = None
    below: list[int] = []
    for folder in folders:
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                whiteout = stat.S_ISCHR(status.st_mode) and status.st_rdev == 0
                return found or (None if whiteout else status), True, below
            found = found or status
            below.append(os.open(name, _FOLDER, dir_fd=folder))
        except (FileNotFoundError, PermissionError, NotADirectoryError):  # or it has just gone
            continue
        if _is_opaque(below[-1]):
            return found, True, below
    return found, False, below


def _target(name: str, folders: list[int]) -> str:
    """Where a link leads: the topmost of that name."""
    for folder in folders:
        try:
            return os.readlink(name, dir_fd=folder)
        except OSError:  # not in this folder, or it has just changed
            continue
    return ""


def _is_opaque(folder: int) -> bool:
    try:
        return os.getxattr(folder, OPAQUE) == b"y"
    except OSError:
        return False


def _names(folder: int) -> list[str]:
    try:
        return os.listdir(folder)
    except (FileNotFoundError, PermissionError):
        return []


def _opened(folders: list[str]) -> list[int]:
    return [os.open(folder, _FOLDER) for folder in folders]


def _close(folders: list[int]) -> None:
    for folder in folders:
        os.close(folder)
