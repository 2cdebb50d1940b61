"""Where a role's file tools work: a folder on this machine, to read; or a folder in a sandbox, to work in."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol

from sandbox.errors import TransferError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.protocol import ExecResult, Sandbox

LARGEST_FILE = 4 << 20
_LISTED = re.compile(r"([0-7]{1,4}) (\d+) (.+)")  # a name may hold a line feed: its second line is none


class WorkspaceError(Exception):
    """A file could not be listed, read or written: says what to do instead."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a listing.

    Attributes:
        path: Relative to the workspace.
        size: Bytes.
        executable: Whether its owner's run bit is set.
    """

    path: str
    size: int
    executable: bool


class Workspace(Protocol):
    """A folder whose files can be read; paths are relative to it."""

    async def list(self, path: str) -> list[Entry]:
        """All plain files in a folder and the folders below it, sorted by path.

        Raises:
            WorkspaceError: No such folder.
        """
        ...

    async def read(self, path: str) -> bytes:
        """A file's bytes.

        Raises:
            WorkspaceError: No such file, no plain file, or larger than 4 MiB.
        """
        ...


class FolderWorkspace:
    """A folder on this machine, read-only; no path and no link leads out of it.

    Args:
        root: The folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    async def list(self, path: str) -> list[Entry]:
        """See `Workspace.list`."""
        return sorted(self._entries(path), key=lambda entry: entry.path)

    async def read(self, path: str) -> bytes:
        """See `Workspace.read`."""
        file = self._inside(path)
        if not file.is_file():
            raise WorkspaceError(_not_a_file(path, folder=file.is_dir()))
        size = file.stat().st_size
        if size > LARGEST_FILE:
            raise WorkspaceError(f"{path}: {size} bytes, files of more than {LARGEST_FILE} bytes cannot be read")
        return file.read_bytes()

    def _entries(self, path: str) -> Iterator[Entry]:
        start = self._inside(path)
        if not start.is_dir():
            raise WorkspaceError(f"{path}: no such folder; list_files with path '.' shows what there is")
        for folder, _, names in os.walk(start):
            for name in names:
                file = Path(folder, name)
                status = file.lstat()
                if stat.S_ISREG(status.st_mode):
                    relative = file.relative_to(self._root).as_posix()
                    yield Entry(relative, status.st_size, bool(status.st_mode & stat.S_IXUSR))

    def _inside(self, path: str) -> Path:
        file = (self._root / relative_path(path)).resolve()
        if not file.is_relative_to(self._root):
            raise WorkspaceError(f"{path}: a link leads out of the workspace, it cannot be followed")
        return file


class SandboxWorkspace:
    """A folder in a sandbox, to read, write and run commands in.

    Args:
        sandbox: The running sandbox.
        root: Absolute path of the folder in it.
    """

    def __init__(self, sandbox: Sandbox, root: str = "/task") -> None:
        self._sandbox = sandbox
        self._root = PurePosixPath(root)

    async def list(self, path: str) -> list[Entry]:
        """See `Workspace.list`."""
        # `stat` and `-exec` are in GNU and in busybox; find's -printf is not.
        folder = self._absolute(path)
        script = 'cd -- "$1" && find . -type f -exec stat -c "%a %s %n" -- {} +'
        result = await self._sandbox.exec(["sh", "-c", script, "sh", folder], cwd="/", timeout=60.0)
        if not result.ok:
            raise WorkspaceError(f"{path}: cannot be listed ({result.error_text.strip()[:300] or 'no such folder'})")
        below = PurePosixPath(folder).relative_to(self._root)
        found = []
        for line in result.text.splitlines():
            if shown := _LISTED.match(line):
                mode, size, name = shown.groups()
                found.append(Entry((below / name).as_posix(), int(size), bool(int(mode, 8) & stat.S_IXUSR)))
        return sorted(found, key=lambda entry: entry.path)

    async def read(self, path: str) -> bytes:
        """See `Workspace.read`."""
        try:
            return await self._sandbox.read_file(self._absolute(path), max_bytes=LARGEST_FILE)
        except FileNotFoundError:
            raise WorkspaceError(_not_a_file(path, folder=False)) from None
        except IsADirectoryError:
            raise WorkspaceError(_not_a_file(path, folder=True)) from None
        except TransferError as error:
            raise WorkspaceError(f"{path}: cannot be read ({error}); use run to look at a part of it") from error

    async def write(self, path: str, content: bytes, *, executable: bool = False) -> None:
        """Writes a file, replacing what is there; folders on the way are made.

        Raises:
            WorkspaceError: The path is outside the workspace or cannot be written.
        """
        target = self._absolute(path)
        if target == str(self._root):
            raise WorkspaceError(f"{path}: name a file in the workspace, not the workspace itself")
        try:
            await self._sandbox.write_file(target, content, mode=0o755 if executable else 0o644)
        except TransferError as error:
            raise WorkspaceError(f"{path}: cannot be written ({error})") from error

    async def remove(self, path: str) -> None:
        """Removes a file; one that is not there is no error.

        Raises:
            WorkspaceError: The path is outside the workspace, or is a folder.
        """
        ran = await self._sandbox.exec(["rm", "-f", "--", self._absolute(path)], cwd="/", timeout=60.0)
        if not ran.ok:
            raise WorkspaceError(f"{path}: cannot be removed ({ran.error_text.strip()[:300]})")

    async def is_executable(self, path: str) -> bool:
        """Whether a file's run bit is set."""
        return (await self._sandbox.exec(["test", "-x", self._absolute(path)], cwd="/", timeout=60.0)).ok

    async def run(self, command: str, limit: float) -> ExecResult:
        """Runs a shell command in the workspace, killed with all it started after `limit` seconds."""
        return await self._sandbox.exec(command, cwd=str(self._root), timeout=limit)

    def _absolute(self, path: str) -> str:
        given = PurePosixPath(path)
        if given.is_absolute() and given.is_relative_to(self._root):
            given = given.relative_to(self._root)
        return str(self._root / relative_path(str(given)))


def relative_path(path: str) -> PurePosixPath:
    """Checks that a path stays in the workspace by its spelling.

    Raises:
        WorkspaceError: It is absolute, climbs, or cannot be a path.
    """
    given = PurePosixPath(path or ".")
    if "\0" in path:
        raise WorkspaceError(f"{path!r}: a path cannot hold a NUL character")
    if given.is_absolute() or ".." in given.parts:
        raise WorkspaceError(f"{path}: outside the workspace; give a path relative to it, without '..'")
    return given


def _not_a_file(path: str, *, folder: bool) -> str:
    what = (
        "a folder, not a file; list_files shows what is in it"
        if folder
        else "no such file; list_files shows what there is"
    )
    return f"{path}: {what}"
