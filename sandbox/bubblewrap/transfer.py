"""Files in and out of a sandbox; standard library only: the launcher imports this.

Every operation runs in a process that has joined the sandbox's mounts: paths inside, with whatever links the agent left
in them, end inside. Folders of the host are opened before, and entered by descriptor, link by link never followed.
"""

from __future__ import annotations

import codecs
import os
import stat

from sandbox.bubblewrap import keeper, syscalls, wire
from sandbox.bubblewrap.layers import remove_tree

TYPE_CHECKING = False  # `typing` would only make the launcher larger
if TYPE_CHECKING:
    import hashlib
    import tarfile
    from collections.abc import Callable

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1 << 20


class RefusedError(Exception):
    """A file that must not go in or out: what it is and why."""


class Budget:
    """Bytes that may still be copied."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.left = limit

    def take(self, count: int, path: str) -> None:
        """Counts bytes.

        Raises:
            RefusedError: More than allowed in all.
        """
        self.left -= count
        if self.left < 0:
            raise RefusedError(f"{path}: more than {self.limit} bytes in all")


def join(fds: dict[str, int]) -> None:
    """Joins the sandbox's mounts, as its root."""
    syscalls.join(fds["init"], syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS)


def read(body: wire.Body, fds: dict[str, int]) -> None:
    """Sends one plain file of the sandbox through the descriptor `out`."""
    join(fds)
    path, budget = str(body["path"]), Budget(int(str(body["max_bytes"])))
    source = open_plain(path, None)
    _copy_bytes(source, fds["out"], path, budget)
    wire.report(fds["report"], done=True)


def write(body: wire.Body, fds: dict[str, int]) -> None:
    """Writes one file of the sandbox from the descriptor `content`: a new file, moved over what is there."""
    join(fds)
    path = str(body["path"])
    folder, name = open_parent(path)
    _write_file(fds["content"], folder, name, mode=int(str(body["mode"])), budget=Budget(1 << 62))
    wire.report(fds["report"], done=True)


def remake(body: wire.Body, fds: dict[str, int]) -> None:
    """Puts an empty folder where anything or nothing was."""
    join(fds)
    folder, name = open_parent(str(body["path"]))
    remove_tree(name, dir_fd=folder)
    os.mkdir(name, dir_fd=folder)
    os.chmod(name, int(str(body["mode"])), dir_fd=folder)
    wire.report(fds["report"], done=True)


def remove(body: wire.Body, fds: dict[str, int]) -> None:
    """Removes whatever is at a path; nothing there is fine."""
    join(fds)
    parent, name = split(str(body["path"]))
    try:
        folder = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        pass
    else:
        remove_tree(name, dir_fd=folder)
    wire.report(fds["report"], done=True)


def upload(body: wire.Body, fds: dict[str, int]) -> None:
    """Copies a file or folder of the host to a path in the sandbox."""
    source = str(body["source"])
    try:
        mode = os.lstat(source).st_mode
        opened = os.open(source, FOLDER if stat.S_ISDIR(mode) else _FILE)
    except FileNotFoundError as error:
        raise RefusedError(f"{source}: nothing there") from error
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise RefusedError(f"{source}: neither a plain file nor a folder")
    if stat.S_ISDIR(mode):
        _check_links(opened, "")
    join(fds)
    budget = Budget(int(str(body["max_bytes"])))
    folder, name = open_parent(str(body["target"]))
    if stat.S_ISDIR(mode):
        _copy_tree(opened, enter(folder, name), "", budget, inwards=True)
    else:
        run_bit = _run_bit(os.fstat(opened).st_mode)
        _write_file(opened, folder, name, mode=run_bit, budget=budget, replace_folder=True)
    wire.report(fds["report"], done=True)


def download(body: wire.Body, fds: dict[str, int]) -> None:
    """Copies a file or folder of the sandbox to the host folder behind the descriptor `folder`."""
    path, name = str(body["source"]), str(body["name"])
    join(fds)
    budget = Budget(int(str(body["max_bytes"])))
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RefusedError(f"{path}: nothing there") from error
    if stat.S_ISDIR(status.st_mode):
        _copy_tree(os.open(path, FOLDER), enter(fds["folder"], name), path.rstrip("/") + "/", budget, inwards=False)
    elif stat.S_ISLNK(status.st_mode):
        write_link(os.readlink(path), fds["folder"], name)
    else:
        source = open_plain(path, None)
        _write_file(source, fds["folder"], name, mode=_run_bit(os.fstat(source).st_mode), budget=budget)
    wire.report(fds["report"], done=True)


def place(body: wire.Body, fds: dict[str, int]) -> None:
    """Makes folders, files and links of an image, in order: `[kind, target, source or link, mode, digest]` for each.

    Here links inside are followed, as an image builder does: `/bin` may be one. A file whose digest is not the one that
    was read when the task was is refused: the image is kept under the key of what was read.
    """
    import hashlib

    context = os.open(str(body["context"]), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    join(fds)
    owner, moment = _owner(str(body["owner"])), int(str(body["moment"]))
    entries = body["entries"]
    assert isinstance(entries, list)  # noqa: S101 - written by the host
    touched = set()
    for kind, target, source, mode, sha256 in entries:
        touched.add(os.path.dirname(target))
        if kind == "folder":
            _make_folders(target, mode, owner, moment)
            continue
        if kind == "single" and os.path.isdir(target):
            target = f"{target}/{source.rpartition('/')[2]}"  # noqa: PLW2901 - into the folder
        _make_folders(os.path.dirname(target), None, (0, 0), moment)
        folder, name = open_parent(target)
        if kind == "link":
            write_link(source, folder, name)
        else:
            checked = _open_below(context, source)
            _check_digest(checked, source, hashlib.sha256(), sha256)
            _write_file(checked, folder, name, mode=mode, budget=Budget(1 << 62))
        os.chown(name, *owner, dir_fd=folder, follow_symlinks=False)
        os.utime(name, (moment, moment), dir_fd=folder, follow_symlinks=False)
        os.close(folder)
    for path in touched:
        os.utime(path, (moment, moment))
    wire.report(fds["report"], done=True)


def unpack(body: wire.Body, fds: dict[str, int]) -> None:
    """Unpacks a tar archive (descriptor `archive`) into a folder, itself shut into it: no member can leave it."""
    # Slow to import, and not possible any more once inside.
    import lzma
    import tarfile
    import zlib

    for module in ("bz2", "gzip"):
        __import__(module)
    for encoding in ("ascii", "iso8859-1", "utf-8"):
        codecs.lookup(encoding)

    if "init" in fds:
        join(fds)
        os.makedirs(str(body["target"]), exist_ok=True)
    else:
        syscalls.setns(fds["userns"], syscalls.CLONE_NEWUSER)
    os.chroot(str(body["target"]))
    os.chdir("/")
    ids = bool(body["users"])
    try:
        with open(fds["archive"], "rb") as file, tarfile.open(fileobj=file) as archive:
            archive.errorlevel = 1
            archive.extraction_filter = getattr(tarfile, "fully_trusted_filter", None)  # the root confines it
            for member in archive:
                _extract(archive, member, ids=ids)
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise RefusedError(f"the archive is broken: {error}") from error
    wire.report(fds["report"], done=True)


def _check_digest(fd: int, path: str, digest: hashlib._Hash, sha256: str) -> None:
    while data := os.read(fd, _CHUNK):
        digest.update(data)
    os.lseek(fd, 0, os.SEEK_SET)
    if digest.hexdigest() != sha256:
        raise RefusedError(f"{path}: changed since the task was read")


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, *, ids: bool) -> None:
    if member.ischr() or member.isblk():
        return
    if not ids:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
    member.name = member.name.lstrip("/") or "."
    archive.extract(member, ".", numeric_owner=True)


def _owner(user: str) -> tuple[int, int]:
    try:
        uid, gid, _groups, _home = keeper.find_account(user, ids=True)
    except keeper.UserError as error:
        raise RefusedError(str(error)) from error
    return (uid, uid) if user.isdecimal() else (uid, gid)  # a number alone is both, as Docker has it


def _make_folders(path: str, mode: int | None, owner: tuple[int, int], moment: int) -> None:
    if os.path.isdir(path):
        return
    _make_folders(os.path.dirname(path), None, (0, 0), moment)
    os.mkdir(path, 0o755)
    os.chown(path, *owner)
    os.chmod(path, 0o755 if mode is None else mode)
    os.utime(path, (moment, moment))


def open_parent(path: str) -> tuple[int, str]:
    """Opens the folder that a path of the sandbox lies in, made when missing, and gives the last component."""
    parent, name = split(path)
    os.makedirs(parent, exist_ok=True)
    return os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), name


def split(path: str) -> tuple[str, str]:
    """The folder a path lies in, and its last component.

    Raises:
        RefusedError: It is not absolute, or has no last component.
    """
    parent, _, name = path.rstrip("/").rpartition("/")
    if name in ("", ".", "..") or not path.startswith("/"):
        raise RefusedError(f"{path}: not an absolute path of a file or folder")
    return parent or "/", name


def _open_below(folder: int, path: str) -> int:
    """Opens a file of the host below a folder; no component may be a link."""
    *parents, name = path.split("/")
    at = os.dup(folder)
    for parent in parents:
        below = os.open(parent, FOLDER, dir_fd=at)
        os.close(at)
        at = below
    try:
        return open_plain(name, at)
    finally:
        os.close(at)


def open_plain(path: str, folder: int | None) -> int:
    """Opens a plain file for reading; a link, a pipe or a device is refused before anything is read."""
    try:
        fd = os.open(path, _FILE, dir_fd=folder)
    except OSError as error:
        if error.errno in (40, 6):  # ELOOP: a link; ENXIO: a socket
            raise RefusedError(f"{path}: a link or a socket, not a plain file") from error
        raise
    mode = os.fstat(fd).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(21, f"{path}: a folder")
    if not stat.S_ISREG(mode):
        raise RefusedError(f"{path}: not a plain file")
    return fd


def enter(folder: int, name: str) -> int:
    """Opens a folder to copy into: what is there under that name and is no folder, a link too, makes way."""
    try:
        return os.open(name, FOLDER, dir_fd=folder)
    except FileNotFoundError:
        pass
    except (NotADirectoryError, OSError):
        remove_tree(name, dir_fd=folder)
    os.mkdir(name, 0o755, dir_fd=folder)
    return os.open(name, FOLDER, dir_fd=folder)


def _check_links(folder: int, inside: str) -> None:
    """Refuses a tree of the host in which a link leads out of it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            path = f"{inside}{entry.name}"
            if entry.is_symlink():
                link = os.readlink(entry.name, dir_fd=folder)
                goal = os.path.normpath(f"{inside}{link}")
                if link.startswith("/") or goal == ".." or goal.startswith("../"):
                    raise RefusedError(f"{path}: a link that leaves the folder ({link})")
            elif entry.is_dir(follow_symlinks=False):
                below = os.open(entry.name, FOLDER, dir_fd=folder)
                _check_links(below, path + "/")
                os.close(below)


def _copy_tree(source: int, target: int, inside: str, budget: Budget, *, inwards: bool) -> None:
    """Copies what is in one open folder into another; what is no file, folder or link is left out on its way out."""
    with os.scandir(source) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names:
        path = f"{inside}{name}"
        budget.take(len(name) + 64, path)
        mode = os.stat(name, dir_fd=source, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            below, goal = os.open(name, FOLDER, dir_fd=source), enter(target, name)
            _copy_tree(below, goal, path + "/", budget, inwards=inwards)
            os.close(below)
            os.close(goal)
        elif stat.S_ISLNK(mode):
            write_link(os.readlink(name, dir_fd=source), target, name)
        elif stat.S_ISREG(mode):
            file = open_plain(name, source)
            _write_file(file, target, name, mode=_run_bit(mode), budget=budget, replace_folder=inwards)
        elif inwards:
            raise RefusedError(f"{path}: a pipe, a socket or a device, not a plain file")


def _run_bit(mode: int) -> int:
    return 0o755 if mode & 0o111 else 0o644


def _write_file(
    source: int, folder: int, name: str, *, mode: int, budget: Budget, replace_folder: bool = False
) -> None:
    """Writes a new file in the place of what is there; takes the descriptor `source`."""

    def fill(target: int) -> None:
        _copy_bytes(source, target, name, budget)
        os.fchmod(target, mode)
        _make_way(folder, name, replace_folder=replace_folder)

    try:
        write_beside(folder, name, fill)
    finally:
        os.close(source)


def write_beside(folder: int, name: str, fill: Callable[[int], None]) -> None:
    """Writes a new file beside and moves it over what is there, or leaves all as it was.

    Args:
        folder: The open folder it lies in.
        name: Its name.
        fill: Writes to the descriptor it is given, and makes way for the new file.
    """
    aside = f".{name[:200]}.{os.getpid()}.part"
    remove_tree(aside, dir_fd=folder)
    target = os.open(aside, NEW, 0o600, dir_fd=folder)
    try:
        fill(target)
        os.rename(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        remove_tree(aside, dir_fd=folder)
        raise
    finally:
        os.close(target)


def write_link(link: str, folder: int, name: str) -> None:
    """Makes a link in an open folder, in the place of what was there."""
    remove_tree(name, dir_fd=folder)
    os.symlink(link, name, dir_fd=folder)


def _make_way(folder: int, name: str, *, replace_folder: bool) -> None:
    """A folder where a file is to go is refused unless told so: to remove it could remove a lot."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(mode):
        return
    if not replace_folder:
        raise RefusedError(f"{name}: a folder lies where the file is to go")
    remove_tree(name, dir_fd=folder)


def _copy_bytes(source: int, target: int, path: str, budget: Budget) -> None:
    while data := os.read(source, _CHUNK):
        budget.take(len(data), path)
        view = memoryview(data)
        while view:
            view = view[os.write(target, view) :]
