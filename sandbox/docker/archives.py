"""Files in and out of a container as archives, through the engine: no program inside is asked.

The engine resolves every path within the container's own root, whatever links the agent has planted, and removes what
lies in the way of an entry (a whole folder where a file is to go, a link where a folder is to go).
"""

from __future__ import annotations

import base64
import io
import json
import posixpath
import re
import stat
import tarfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, cast

from urllib3.exceptions import HTTPError

from sandbox.docker.engine import engine_errors
from sandbox.errors import SandboxLostError, TransferError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import docker
    from requests import Response

_CHUNK = 1 << 18
_NOT_FOUND = 404
_PLAIN = {"Accept-Encoding": "identity"}  # else the engine compresses, which costs more than it saves
_LINK, _FOLDER = 1 << 27, 1 << 31  # of Go's file modes
_ODD = 1 << 26 | 1 << 25 | 1 << 24 | 1 << 21 | 1 << 19  # device, pipe, socket, character device, irregular
_MADE_BY_KERNEL = ("/proc", "/sys", "/dev")


@dataclass(frozen=True, slots=True)
class Status:
    """What lies at a path: its size in bytes, and what a link leads to."""

    mode: int
    size: int
    link: str = ""

    @property
    def is_folder(self) -> bool:
        """Whether it is a real folder."""
        return bool(self.mode & _FOLDER)

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return bool(self.mode & _LINK)

    @property
    def is_plain(self) -> bool:
        """Whether it is a plain file."""
        return not self.mode & (_FOLDER | _LINK | _ODD)


class Archives:
    """Archives of one container; every method blocks.

    Args:
        client: The SDK's client.
        container: Id of the container.
    """

    def __init__(self, client: docker.DockerClient, container: str) -> None:
        api = client.api
        self._api = api
        self._url = f"{api.base_url}/v{api.api_version}/containers/{container}"

    def status(self, path: str) -> Status | None:
        """What lies at a path, its last component not followed (with `/.` behind it it is); `None` for nothing.

        Raises:
            SandboxLostError: The container is gone.
            SandboxError: The engine refused.
        """
        with engine_errors(f"looking at {path}"):
            answer = self._api.head(f"{self._url}/archive", params={"path": path}, timeout=self._api.timeout)
        if answer.status_code == _NOT_FOUND:
            self.check()
            return None
        told = answer.headers.get("X-Docker-Container-Path-Stat")
        if not answer.ok or told is None:
            self._check_nothing(path)
            return None
        row = json.loads(base64.b64decode(told))
        return Status(int(row["mode"]), int(row["size"]), str(row.get("linkTarget") or ""))

    def _check_nothing(self, path: str) -> None:
        """Tells a path below a file, where nothing can lie, from a failure; only a full answer has words.

        Raises:
            TransferError: The engine cannot look there: a circle of links, a name that is too long.
            SandboxLostError: The container is gone.
        """
        with engine_errors(f"looking at {path}"):
            answer = self._api.get(
                f"{self._url}/archive", params={"path": path}, headers=_PLAIN, stream=True, timeout=self._api.timeout
            )
            text = "its answers differ" if answer.ok else _message(answer)
            answer.close()
        self.check()
        if not re.search("not a directory|no such file", text, re.IGNORECASE):
            raise TransferError(f"looking at {path}: {text}")

    @contextmanager
    def reading(self, path: str) -> Iterator[tarfile.TarFile]:
        """The archive of what lies at a path, to be read entry by entry.

        Raises:
            TransferError: Nothing there, or the archive breaks off.
            SandboxError: The engine refused.
        """
        with engine_errors(f"reading {path}"):
            answer = self._api.get(
                f"{self._url}/archive", params={"path": path}, headers=_PLAIN, stream=True, timeout=self._api.timeout
            )
        try:
            self._check(answer, f"reading {path}")
            raw = cast("IO[bytes]", answer.raw)
            with tarfile.open(fileobj=raw, mode="r|", encoding="utf-8", errors="surrogateescape") as archive:
                yield archive
        except (tarfile.TarError, EOFError, HTTPError) as error:
            raise TransferError(f"{path}: the archive that the engine made of it breaks off: {error}") from error
        finally:
            answer.close()

    def put(self, folder: str, archive: IO[bytes]) -> None:
        """Lays an archive over what is in a folder.

        Raises:
            TransferError: It cannot be written there.
            SandboxError: The engine failed.
        """
        content = iter(lambda: archive.read(_CHUNK), b"")
        with engine_errors(f"writing to {folder}"):
            answer = self._api.put(
                f"{self._url}/archive", params={"path": folder}, data=content, timeout=self._api.timeout
            )
        self._check(answer, f"writing to {folder}")

    def check(self) -> None:
        """Asks whether the container is still there.

        Raises:
            SandboxLostError: It is not.
        """
        with engine_errors("asking for the sandbox"):
            answer = self._api.get(f"{self._url}/json", timeout=self._api.timeout)
        if answer.status_code == _NOT_FOUND:
            raise SandboxLostError(f"the sandbox is gone: {_message(answer)}")

    def _check(self, answer: Response, what: str) -> None:
        if answer.ok:
            return
        text = _message(answer)
        if answer.status_code == _NOT_FOUND:
            self.check()
        raise TransferError(f"{what}: {text}")


def placing(archives: Archives, path: str) -> tuple[str, list[str], str]:
    """Where an entry has to be laid so that it lands at a path.

    Returns:
        The deepest folder that is there, the folders that are missing below it, and the last component.

    Raises:
        TransferError: The path names no place for a file: relative, `..`, below a file or a link to nothing, or in a
            folder that the kernel makes up.
    """
    parts = path.rstrip("/").split("/")
    if not path.startswith("/") or len(parts) < 2 or parts[-1] in ("", ".", "..") or "\0" in path:  # noqa: PLR2004
        raise TransferError(f"{path}: not an absolute path of a file or folder")
    if _is_made_by_kernel(path):
        raise TransferError(f"{path}: made by the kernel, out of the engine's reach: write it with a command")
    missing: list[str] = []
    parent = "/".join(parts[:-1])
    while parent.strip("/"):
        found = archives.status(f"{parent}/.")
        if found is not None and found.is_folder:
            break
        here = archives.status(parent)
        if here is not None:
            raise TransferError(f"{path}: {parent} is {'a link to no folder' if here.is_link else 'no folder'}")
        parent, _, name = parent.rpartition("/")
        if name == "..":
            raise TransferError(f"{path}: {parent} is missing")
        if name not in ("", "."):
            missing.insert(0, name)
    return parent or "/", missing, parts[-1]


def _is_made_by_kernel(path: str) -> bool:
    clean = posixpath.normpath("/" + path.lstrip("/"))
    return any(clean == made or clean.startswith(f"{made}/") for made in _MADE_BY_KERNEL)


class NewArchive:
    """An archive under way to a container: everything in it belongs to root.

    Args:
        file: Where it is written.
        missing: Folders that are made first.
    """

    def __init__(self, file: IO[bytes], missing: list[str]) -> None:
        self._tar = tarfile.open(  # noqa: SIM115 - closed by `finish`
            fileobj=file, mode="w", format=tarfile.PAX_FORMAT, encoding="utf-8", errors="surrogateescape"
        )
        self._now = int(time.time())
        self._prefix = ""
        for name in missing:
            self._prefix += f"{name}/"
            self.folder("")

    def folder(self, path: str, mode: int = 0o755) -> None:
        """Adds a folder."""
        self._tar.addfile(self._info(path, tarfile.DIRTYPE, mode))

    def link(self, path: str, target: str) -> None:
        """Adds a symbolic link."""
        info = self._info(path, tarfile.SYMTYPE, 0o777)
        info.linkname = target
        self._tar.addfile(info)

    def file(self, path: str, content: IO[bytes], size: int, mode: int) -> None:
        """Adds a plain file."""
        info = self._info(path, tarfile.REGTYPE, mode)
        info.size = size
        self._tar.addfile(info, content)

    def finish(self) -> None:
        """Ends it."""
        self._tar.close()

    def _info(self, path: str, kind: bytes, mode: int) -> tarfile.TarInfo:
        info = tarfile.TarInfo(self._prefix + path)
        info.type, info.mode, info.mtime = kind, mode, self._now
        return info


def write_file(archives: Archives, path: str, content: bytes, mode: int) -> None:
    """See `Sandbox.write_file`."""
    folder, missing, name = placing(archives, path)
    found = archives.status(path)
    if found is not None and found.is_folder:
        raise TransferError(f"{path}: a folder lies where the file is to go")
    archive = io.BytesIO()
    new = NewArchive(archive, missing)
    new.file(name, io.BytesIO(content), len(content), stat.S_IMODE(mode))
    new.finish()
    archive.seek(0)
    archives.put(folder, archive)


def make_folder(archives: Archives, path: str, mode: int = 0o755, *, emptied: bool = True) -> None:
    """Makes a real folder; `emptied` removes whatever was there before."""
    folder, missing, name = placing(archives, path)
    archive = io.BytesIO()
    new = NewArchive(archive, missing)
    if emptied:
        new.file(name, io.BytesIO(), 0, 0o600)  # the engine removes a tree that is in a file's way
    new.folder(name, mode)
    new.finish()
    archive.seek(0)
    archives.put(folder, archive)


def shrink(archives: Archives, path: str) -> None:
    """Replaces whatever lies at a path by an empty file."""
    folder, missing, name = placing(archives, path)
    archive = io.BytesIO()
    new = NewArchive(archive, missing)
    new.file(name, io.BytesIO(), 0, 0o600)
    new.finish()
    archive.seek(0)
    archives.put(folder, archive)


def read_file(archives: Archives, path: str, max_bytes: int) -> bytes:
    """See `Sandbox.read_file`."""
    if _is_made_by_kernel(path):
        raise TransferError(f"{path}: made by the kernel, out of the engine's reach: read it with a command")
    found = archives.status(path)
    if found is None:
        raise FileNotFoundError(2, "no such file in the sandbox", path)
    if found.is_folder:
        raise IsADirectoryError(21, "a folder", path)
    if not found.is_plain:
        raise TransferError(f"{path}: a link, a pipe, a socket or a device, not a plain file")
    if found.size > max_bytes:
        raise TransferError(f"{path}: more than {max_bytes} bytes in all")
    with archives.reading(path) as archive:
        entry = archive.next()
        content = archive.extractfile(entry) if entry is not None and entry.isreg() else None
        if entry is None or content is None or entry.size > max_bytes:  # it has changed meanwhile
            raise TransferError(f"{path}: no plain file any more, or more than {max_bytes} bytes in all")
        return content.read()


def _message(answer: Response) -> str:
    try:
        found = answer.json()
    except ValueError:
        return answer.text.strip() or f"status {answer.status_code}"
    return " ".join(str(found.get("message", found)).split()) if isinstance(found, dict) else str(found)
