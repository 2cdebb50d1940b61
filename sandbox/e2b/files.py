"""Files in and out of a sandbox through its service's file API, and links never followed in the last component.

The API opens paths as they are, so nothing is ever written *to* a path: it is written beside, under a name nobody can
guess, and moved over what is there. A file that is read is looked at before: a link that takes its place in between
leads to another file of the same sandbox, no further.
"""

from __future__ import annotations

import posixpath
import secrets
from typing import TYPE_CHECKING

from e2b.exceptions import FileNotFoundException, InvalidArgumentException, SandboxException

from sandbox.e2b.entries import entry_at
from sandbox.e2b.failures import attempted, may_pass, translated
from sandbox.errors import TransferError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from sandbox.e2b.wire import Wire

_ROOT = "root"
_PLAIN_MODE, _FOLDER_MODE = 0o644, 0o755


def checked(path: str) -> str:
    """An absolute path without `.` and `..`.

    Raises:
        TransferError: It is none, the root itself, or no UTF-8.
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        raise TransferError(
            f"{path!a}: the E2B service takes names in UTF-8 only; copy the folder it lies in"
        ) from None
    if not path.startswith("/") or ".." in path.split("/") or posixpath.normpath(path).strip("/") in ("", "."):
        raise TransferError(f"{path}: not an absolute path of a file or folder")
    return "/" + posixpath.normpath(path).lstrip("/")


def aside(path: str) -> str:
    """A name beside a path that nobody can guess."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/.{name[:100]}.{secrets.token_hex(8)}.part"


async def read(wire: Wire, path: str, max_bytes: int) -> bytes:
    """See `Sandbox.read_file`."""
    content = bytearray()
    await _stream(wire, checked(path), max_bytes, content.extend)
    return bytes(content)


async def fetch(wire: Wire, path: str, target: Path, max_bytes: int) -> None:
    """Copies one plain file to a path of this machine, with its run bit; raises as `read` does."""
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("wb") as file:
            mode = await _stream(wire, path, max_bytes, file.write)
        part.chmod(_FOLDER_MODE if mode & 0o111 else _PLAIN_MODE)
        part.replace(target)
    except OSError as error:
        if isinstance(error, FileNotFoundError | IsADirectoryError) and error.filename is None:
            raise
        raise TransferError(f"download to {target}: {error}") from error
    finally:
        part.unlink(missing_ok=True)


async def _stream(wire: Wire, path: str, max_bytes: int, take: Callable[[bytes], object]) -> int:
    """Hands a plain file's bytes on; its mode."""
    entry = await entry_at(wire, path)
    if entry is None:
        raise FileNotFoundError(f"{path}: nothing there")
    if entry.kind == "folder":
        raise IsADirectoryError(f"{path}: a folder")
    if entry.kind != "file":
        raise TransferError(f"{path}: a link, a pipe, a socket or a device, not a plain file")
    if entry.size > max_bytes:
        raise TransferError(f"{path}: {entry.size} bytes, more than {max_bytes}")

    async def ask() -> None:
        total = 0
        async with await wire.cloud.files.read(path, format="stream", user=_ROOT) as reader:
            async for chunk in reader:
                total += len(chunk)
                if total > max_bytes:
                    raise TransferError(f"{path}: more than {max_bytes} bytes")
                take(chunk)

    try:
        # Once some bytes are taken there is no second try; opening it is tried again by the package.
        await ask()
    except FileNotFoundException:
        raise FileNotFoundError(f"{path}: nothing there") from None
    except SandboxException as error:
        raise translated(f"reading {path}", error) from error
    return entry.mode


async def write(wire: Wire, path: str, content: bytes, mode: int) -> None:
    """See `Sandbox.write_file`."""
    path = checked(path)
    part = aside(path)
    await put(wire, {part: content}, {part: mode})
    try:
        await move(wire, part, path)
    except TransferError:
        await erase(wire, part)
        raise


async def put(wire: Wire, contents: Mapping[str, bytes], modes: Mapping[str, int]) -> None:
    """Writes new files at paths nobody can guess; permissions are set before there is anything in them.

    Raises:
        TransferError: A path cannot be written.
    """
    special = {path: mode for path, mode in modes.items() if mode != _PLAIN_MODE}
    if special:
        await _put(wire, dict.fromkeys(special, b""))
        for mode in sorted(set(special.values())):
            paths = [path for path, wanted in special.items() if wanted == mode]
            await wire.run_tool("chmod", "--", f"{mode:04o}", *paths)
    await _put(wire, contents)


async def _put(wire: Wire, contents: Mapping[str, bytes]) -> None:
    batch: list[tuple[str, bytes]] = []
    size = 0
    for path, content in contents.items():
        batch.append((path, content))
        size += len(content)
        if size > 16 << 20 or len(batch) == 100:  # noqa: PLR2004 - files of one request
            await _write_batch(wire, batch)
            batch, size = [], 0
    if batch:
        await _write_batch(wire, batch)


async def _write_batch(wire: Wire, batch: list[tuple[str, bytes]]) -> None:
    entries = [{"path": path, "data": content} for path, content in batch]
    what = f"writing {batch[0][0]}" + (f" and {len(batch) - 1} more" if len(batch) > 1 else "")
    await _changing(what, lambda: wire.cloud.files.write_files(entries, user=_ROOT))  # type: ignore[arg-type]


async def make_folder(wire: Wire, path: str, mode: int = _FOLDER_MODE, *, user: str = _ROOT) -> None:
    """Makes a folder and those above it, for a user; one that is there is left as it is.

    Raises:
        TransferError: A file is in the way.
    """
    await _changing(f"making {path}", lambda: wire.cloud.files.make_dir(path, user=user))
    if mode != _FOLDER_MODE:
        await wire.run_tool("chmod", "--", f"{mode:04o}", path)


async def move(wire: Wire, source: str, target: str) -> None:
    """Moves a file or folder over what is there; a link there is replaced.

    Raises:
        TransferError: A folder is there, or a file where a folder is to go.
    """
    await _changing(f"writing {target}", lambda: wire.cloud.files.rename(source, target, user=_ROOT))


async def erase(wire: Wire, path: str) -> None:
    """Removes whatever is there; links are not followed.

    Raises:
        TransferError: It cannot be removed.
    """
    await _changing(f"removing {path}", lambda: wire.cloud.files.remove(path, user=_ROOT))


async def _changing(what: str, call: Callable[[], Awaitable[object]]) -> None:
    """A change of files; what the service says of the path itself is the path's fault, not the service's."""

    async def tell() -> SandboxException | None:
        try:
            await call()
        except (FileNotFoundException, InvalidArgumentException) as error:
            return error
        except SandboxException as error:
            if type(error) is SandboxException and not may_pass(error):
                return error
            raise
        return None

    refused = await attempted(what, tell)
    if refused is not None:
        raise TransferError(f"{what}: {refused}")
