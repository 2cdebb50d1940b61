"""Walking a task folder that nobody vouches for: what is in it, without opening anything but plain files.

Everything is looked at with `lstat` first, so a FIFO cannot block us, a device is never read, a link is never
followed by accident, and a file that is too large is refused before its first byte is read.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import IO, TYPE_CHECKING, Final

from sandbox.errors import TaskError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MAX_FILE_BYTES: Final = 256 << 20
MAX_TASK_BYTES: Final = 1 << 30
MAX_ENTRIES: Final = 50_000
CHUNK: Final = 1 << 16

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_MOST_LINKS_IN_A_PATH: Final = 40
_KINDS: Final = {
    stat.S_IFSOCK: "a socket",
    stat.S_IFIFO: "a FIFO (named pipe)",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}


@dataclass(frozen=True, slots=True)
class TaskFile:
    """One file of a task.

    Attributes:
        path: Relative to the task folder, with forward slashes.
        size: Bytes; of a link, the bytes of its target's text.
        executable: Whether its owner may run it: the only part of its mode that counts. Never for a link.
        sha256: Of its bytes; of a link, of its target's text.
        link: The target's text when it is a symbolic link (always one that stays inside the task), else "".
    """

    path: str
    size: int
    executable: bool
    sha256: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something odd in a task that does not keep it from being used.

    Attributes:
        file: Relative to the task folder.
        field: The dotted field of a TOML file, else "".
        message: What is odd, and what to do about it where something can be done.
    """

    file: str
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Listing:
    """What a walk found.

    Attributes:
        files: Files and links, sorted by path.
        empty_folders: Folders that hold nothing, sorted.
        windows_scripts: Paths of `*.sh` files with CRLF line ends, sorted.
        findings: What is odd.
    """

    files: tuple[TaskFile, ...]
    empty_folders: tuple[str, ...]
    windows_scripts: tuple[str, ...]
    findings: tuple[Finding, ...]


def list_files(root: Path) -> Listing:
    """Walks a task folder and hashes what is in it, one chunk in memory at a time.

    A `.git` at the top is the author's own and left out; any other folder belongs to the task.

    Raises:
        TaskError: An entry that a task cannot hold; names it.
    """
    plain, links, folders = _entries(root)
    findings = [*_check_links(plain, links, folders)]
    if os.path.lexists(root / ".git"):
        findings.append(Finding(".git", "", "left out: the repository of the folder itself is no part of the task"))
    occupied = {_parent(path) for path in (*plain, *links, *folders)}
    empty = tuple(sorted(folders - occupied))
    findings += [Finding(path, "", "an empty folder: git does not keep it, put a file into it") for path in empty]
    files: list[TaskFile] = []
    windows: list[str] = []
    for path in sorted((*plain, *links)):
        if path in links:
            target = links[path].encode()
            files.append(TaskFile(path, len(target), False, hashlib.sha256(target).hexdigest(), links[path]))
        else:
            status = plain[path]
            digest, carriage_returns = _digest(root, path, status.st_size)
            files.append(TaskFile(path, status.st_size, bool(status.st_mode & stat.S_IXUSR), digest))
            if carriage_returns:
                windows.append(path)
    return Listing(tuple(files), empty, tuple(windows), tuple(sorted(findings, key=lambda finding: finding.file)))


def open_plain(root: Path, path: str) -> IO[bytes]:
    """Opens a plain file for reading; never follows a link in its last component and never blocks.

    Raises:
        TaskError: It is gone, has become something else, or may not be read.
    """
    return os.fdopen(plain_descriptor(root, path), "rb")


def plain_descriptor(root: Path, path: str) -> int:
    """The same without a stream around it, which for small files costs more than reading them; the caller closes it.

    Raises:
        TaskError: As `open_plain`.
    """
    try:
        descriptor = os.open(f"{root}/{path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise TaskError(f"cannot be read: {error.strerror}", file=path) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise TaskError("is no plain file any more: it changed while the task was read", file=path)
    return descriptor


def read_capped(root: Path, path: str, most: int) -> bytes:
    """Reads a file that has to be small.

    Raises:
        TaskError: It cannot be read, or holds more than `most` bytes.
    """
    with open_plain(root, path) as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise TaskError(f"larger than {most:,} bytes: cut it down or move data into a file of its own", file=path)
    return content


def resolve_link(path: str, links: Mapping[str, str]) -> str:
    """Where a link leads, as a path relative to the task folder ("" is the folder itself); touches no disk.

    Args:
        path: Path of the link.
        links: Path to target text of every link in the task.

    Raises:
        TaskError: It leaves the folder at any point of the way, or runs in a circle.
    """
    stack: list[str] = []
    ahead = path.split("/")
    followed = 0
    while ahead:
        part = ahead.pop(0)
        if part in {"", "."}:
            continue
        if part == "..":
            if not stack:
                raise TaskError(_leaves(links[path]), file=path)
            stack.pop()
            continue
        stack.append(part)
        target = links.get("/".join(stack))
        if target is None:
            continue
        followed += 1
        if followed > _MOST_LINKS_IN_A_PATH:
            raise TaskError(f"a symbolic link that leads in a circle (to {links[path]!r}); remove it", file=path)
        if target.startswith("/"):
            raise TaskError(_leaves(links[path]), file=path)
        stack.pop()
        ahead = target.split("/") + ahead
    return "/".join(stack)


def _leaves(target: str) -> str:
    return f"a symbolic link to {target!r}, which leaves the task folder; copy the file in or link relatively inside it"


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _entries(root: Path) -> tuple[dict[str, os.stat_result], dict[str, str], set[str]]:
    """Plain files with their status, links with their targets, and folders; every name and size checked."""
    plain: dict[str, os.stat_result] = {}
    links: dict[str, str] = {}
    folders: set[str] = set()
    waiting = [""]
    total = 0
    while waiting:
        folder = waiting.pop()
        for entry in _scan(root, folder):
            path = _checked_path(folder, entry.name)
            if path == ".git":
                continue
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                links[path] = _link_target(root, path)
            elif stat.S_ISDIR(status.st_mode):
                folders.add(path)
                waiting.append(path)
            elif stat.S_ISREG(status.st_mode):
                plain[path] = status
                total += _checked_size(path, status.st_size)
            else:
                kind = _KINDS.get(stat.S_IFMT(status.st_mode), "no plain file")
                raise TaskError(f"is {kind}; a task holds plain files, folders and links only: remove it", file=path)
            if total > MAX_TASK_BYTES or len(plain) + len(links) + len(folders) > MAX_ENTRIES:
                most = f"{MAX_TASK_BYTES >> 20} MiB in {MAX_ENTRIES:,} files and folders"
                raise TaskError(f"more than {most}: is this a task folder? Fetch large data in the image", file=root)
    return plain, links, folders


def _scan(root: Path, folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(f"{root}/{folder}" if folder else root) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise TaskError(f"folder cannot be read: {error.strerror}", file=folder or root) from None


def _checked_path(folder: str, name: str) -> str:
    path = f"{folder}/{name}" if folder else name
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise TaskError("its name is not UTF-8; rename it", file=shown) from None
    if _CONTROL.search(name):
        # repr() so that the message is one line and a terminal does not obey the name.
        raise TaskError("its name holds a newline or another control character; rename it", file=repr(path))
    return path


def _checked_size(path: str, size: int) -> int:
    if size > MAX_FILE_BYTES:
        most = f"{MAX_FILE_BYTES >> 20} MiB"
        raise TaskError(f"{size:,} bytes, more than the {most} a file may hold; build it in the image", file=path)
    return size


def _link_target(root: Path, path: str) -> str:
    target = os.readlink(f"{root}/{path}")  # noqa: PTH115 - Path.readlink() tidies the text, which has to stay as it is
    try:
        target.encode("utf-8")
    except UnicodeEncodeError:
        raise TaskError("a symbolic link whose target is not UTF-8; remove it", file=path) from None
    if _CONTROL.search(target):
        raise TaskError("a symbolic link whose target holds a control character; remove it", file=path)
    return target


def _check_links(plain: Mapping[str, object], links: Mapping[str, str], folders: set[str]) -> list[Finding]:
    """Refuses links that leave the folder or make walking it endless; reports those that lead nowhere."""
    findings = []
    down: dict[str, set[str]] = {}
    for path in sorted(links):
        target = resolve_link(path, links)
        if target == "" or target in folders:
            down.setdefault(_parent(path), set()).add(target)
        elif target not in plain:
            findings.append(Finding(path, "", f"a symbolic link to {links[path]!r}, where nothing is"))
    if not down:
        return findings
    for folder in folders:
        down.setdefault(_parent(folder), set()).add(folder)
    try:
        TopologicalSorter(down).prepare()
    except CycleError as error:
        circle = set(error.args[1])
        guilty = next(p for p in sorted(links) if _parent(p) in circle and resolve_link(p, links) in circle)
        message = f"a symbolic link to {links[guilty]!r} that makes the folder contain itself; remove it"
        raise TaskError(message, file=guilty) from None
    return findings


def _digest(root: Path, path: str, size: int) -> tuple[str, bool]:
    """Hashes a plain file chunk by chunk; also says whether it is a `*.sh` with CRLF line ends."""
    digest = hashlib.sha256()
    script = path.endswith(".sh")
    carriage_returns, last, read = False, b"", 0
    descriptor = plain_descriptor(root, path)
    try:
        # One byte more than expected, never endlessly: a file that grows while it is read is caught below.
        while chunk := os.read(descriptor, min(CHUNK, size + 1 - read)):
            digest.update(chunk)
            read += len(chunk)
            if script and not carriage_returns:
                carriage_returns = b"\r\n" in last + chunk
                last = chunk[-1:]
    finally:
        os.close(descriptor)
    if read != size:
        raise TaskError(f"changed while it was read: {size:,} bytes expected; read the task again", file=path)
    return digest.hexdigest(), carriage_returns
