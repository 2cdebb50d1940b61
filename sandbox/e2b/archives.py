"""Folders out of a sandbox, and archives in and out: by its own `tar`, where the API has nothing.

What comes of it is looked through on this side before anything is believed: no entry may leave its folder, no link is
followed, no device is made.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.e2b import files
from sandbox.e2b.entries import entry_at
from sandbox.e2b.failures import attempted, boundary
from sandbox.errors import TransferError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.e2b.wire import Wire

_NOTHING_THERE = 3
_SOME_CHANGED = 1
_SLACK = 64 << 20
"""Bytes that headers and padding of an archive may take beside its content."""


async def pack(wire: Wire, paths: Sequence[str], target: Path, max_bytes: int) -> None:
    """See `Sandbox.pack`."""
    raw = target.with_name(f".{target.name}.{secrets.token_hex(4)}.raw")
    try:
        await _receive(wire, paths, raw, max_bytes)
        await asyncio.to_thread(_clean, raw, target, max_bytes)
    except OSError as error:
        raise TransferError(f"pack to {target}: {error}") from error
    finally:
        raw.unlink(missing_ok=True)


async def unpack(wire: Wire, archive: Path) -> None:
    """See `Sandbox.unpack`."""
    await asyncio.to_thread(_check, archive)
    part = f"/tmp/.{secrets.token_hex(8)}.tar"  # noqa: S108 - in the sandbox, under a name nobody can guess

    async def send() -> None:
        with archive.open("rb") as file:
            await wire.cloud.files.write(part, file, user="root")

    await attempted(f"unpack of {archive.name}", send)
    try:
        await wire.run_tool("tar", "-x", "-p", "--numeric-owner", "-f", part, "-C", "/")
    finally:
        await files.erase(wire, part)


async def download(wire: Wire, source: str, target: Path, max_bytes: int) -> None:
    """See `Sandbox.download`."""
    await asyncio.to_thread(_make_parent, target)
    source = files.checked(source)
    entry = await entry_at(wire, source)
    if entry is None:
        raise TransferError(f"download of {source}: nothing there")
    if entry.kind == "file":
        try:
            await files.fetch(wire, source, target, max_bytes)
        except (FileNotFoundError, IsADirectoryError) as error:
            raise TransferError(f"download of {source}: {error}") from error
        return
    if entry.kind == "other":
        raise TransferError(f"download of {source}: a pipe, a socket or a device, not a plain file")
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "archive.tar"
        await _receive(wire, [source], archive, max_bytes)
        await asyncio.to_thread(_lay_out, archive, source.lstrip("/"), target, max_bytes)


def _make_parent(target: Path) -> None:
    target.absolute().parent.mkdir(parents=True, exist_ok=True)


async def _receive(wire: Wire, paths: Sequence[str], target: Path, max_bytes: int) -> None:
    left = max_bytes + _SLACK
    with target.open("wb") as file:

        def take(data: bytes) -> None:
            nonlocal left
            left -= len(data)
            if left < 0:
                raise TransferError(f"{', '.join(paths)}: more than {max_bytes} bytes in all")
            file.write(data)

        with boundary("tar in the sandbox"):
            status = await wire.stream_script("pack.sh", list(paths), take)
        if status == _NOTHING_THERE:
            tarfile.open(fileobj=file, mode="w").close()
        elif status > _SOME_CHANGED:
            raise TransferError(f"{', '.join(paths)}: tar in the sandbox ended with status {status}")


def _clean(raw: Path, target: Path, max_bytes: int) -> None:
    """Copies an archive without what it must not hold; names without a leading slash."""
    left = max_bytes
    with tarfile.open(raw) as old, tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as new:
        for member in old:
            if member.ischr() or member.isblk() or member.name in (".", ""):
                continue
            left -= member.size
            if left < 0:
                raise TransferError(f"pack: more than {max_bytes} bytes in all")
            new.addfile(member, old.extractfile(member) if member.isreg() else None)


def _check(archive: Path) -> None:
    try:
        with tarfile.open(archive) as opened:
            for member in opened:
                if member.name.startswith("/") or ".." in member.name.split("/"):
                    raise TransferError(f"{archive}: the entry {member.name} leaves the root")
    except (OSError, tarfile.TarError) as error:
        raise TransferError(f"{archive}: no archive that can be read: {error}") from error


def _lay_out(archive: Path, prefix: str, target: Path, max_bytes: int) -> None:
    """Lays out what an archive holds under a path: folders, files with their run bits, links as links."""
    left = max_bytes
    made: set[Path] = set()
    with tarfile.open(archive) as opened:
        for member in opened:
            inside = member.name.removeprefix(prefix).strip("/")
            if not member.name.startswith(prefix) or ".." in inside.split("/"):
                raise TransferError(f"download: the archive holds {member.name}, which is not in /{prefix}")
            place = target / inside if inside else target
            if inside and place.parent not in made:
                raise TransferError(f"download: {member.name} lies in no folder of the archive")
            left -= member.size + len(member.name) + 64
            if left < 0:
                raise TransferError(f"/{prefix}: more than {max_bytes} bytes in all")
            _lay(opened, member, place, made)


def _lay(opened: tarfile.TarFile, member: tarfile.TarInfo, place: Path, made: set[Path]) -> None:
    if not (member.isdir() or member.issym() or member.islnk() or member.isreg()):
        return  # a pipe or a device
    if member.isdir():
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            place.unlink()
        place.mkdir(exist_ok=True)
        made.add(place)
        return
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    if member.issym():
        place.symlink_to(member.linkname)
        return
    content = opened.extractfile(member)
    if content is None:  # a further name of a pipe, say
        return
    with content, place.open("wb") as file:
        shutil.copyfileobj(content, file)
    place.chmod(0o755 if member.mode & 0o111 else 0o644)
