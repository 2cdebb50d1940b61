"""Copies a file or a folder of this machine into a sandbox."""

from __future__ import annotations

import asyncio
import stat
from typing import TYPE_CHECKING

from sandbox.e2b import files
from sandbox.e2b.entries import entry_at, listing
from sandbox.e2b.odd_names import lay_odd, put_odd, split
from sandbox.e2b.trees import MAX_UPLOAD, Tree, read_tree
from sandbox.errors import TransferError, UnsupportedTaskError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sandbox.e2b.entries import Entry
    from sandbox.e2b.wire import Wire

_BATCH_BYTES = 32 << 20


async def upload(wire: Wire, source: Path, target: str) -> None:
    """See `Sandbox.upload`; a folder that is there already is kept, and what is in both is replaced."""
    target = files.checked(target)
    try:
        source, mode = await asyncio.to_thread(_resolved, source)
    except OSError as error:
        raise TransferError(f"{source}: {error.strerror}") from error
    if stat.S_ISREG(mode):
        await _upload_file(wire, source, target, mode)
    elif stat.S_ISDIR(mode):
        await _upload_folder(wire, source, target)
    else:
        raise TransferError(f"{source}: neither a plain file nor a folder")


def _resolved(source: Path) -> tuple[Path, int]:
    return source.resolve(strict=True), source.stat().st_mode


async def _upload_file(wire: Wire, source: Path, target: str, mode: int) -> None:
    content = await asyncio.to_thread(source.read_bytes)
    part = files.aside(target)
    await files.put(wire, {part: content}, {part: 0o755 if mode & 0o111 else 0o644})
    await _replace(wire, part, target)


async def _upload_folder(wire: Wire, source: Path, target: str) -> None:
    tree, odd = split(await asyncio.to_thread(read_tree, source))
    part = files.aside(target)
    await _put_tree(wire, source, tree, part)
    if odd != Tree():
        await put_odd(wire, source, odd, part)
    there = await entry_at(wire, target)
    if there is None or there.kind != "folder":
        await _replace(wire, part, target)
        return
    present = await _present(wire, target)
    if present == {}:
        await _replace(wire, part, target)
        return
    for path in tree.folders:
        place = f"{target}/{path}"
        there = await entry_at(wire, place) if present is None else present.get(place)
        if there is None or there.kind != "folder":
            await files.erase(wire, place)
            await files.make_folder(wire, place)
    for path in (*tree.files, *tree.links):
        known = present is None or f"{target}/{path}" in present
        await _replace(wire, f"{part}/{path}", f"{target}/{path}", known=known)
    if odd != Tree():
        await lay_odd(wire, odd, part, target)
    await files.erase(wire, part)


async def _present(wire: Wire, target: str) -> dict[str, Entry] | None:
    """What lies in a folder; `None` where the service cannot list it."""
    try:
        return await listing(wire, target)
    except UnsupportedTaskError:
        return None


async def _replace(wire: Wire, part: str, target: str, *, known: bool = True) -> None:
    if known:
        await files.erase(wire, target)
    await files.move(wire, part, target)


async def _put_tree(wire: Wire, source: Path, tree: Tree, part: str) -> None:
    await files.make_folder(wire, part)
    for path in tree.folders:
        if not any(other.startswith(f"{path}/") for other in (*tree.files, *tree.folders)):
            await files.make_folder(wire, f"{part}/{path}")
    for batch in _batches(source, tree):
        contents = await asyncio.to_thread(_contents, source, batch, part)
        modes = {f"{part}/{name}": 0o755 if tree.files[name] else 0o644 for name in batch}
        await files.put(wire, contents, modes)
    for path, link in tree.links.items():
        await wire.run_tool("ln", "-s", "--", link, f"{part}/{path}")


def _contents(source: Path, names: list[str], part: str) -> dict[str, bytes]:
    return {f"{part}/{name}": (source / name).read_bytes() for name in names}


def _batches(source: Path, tree: Tree) -> Iterator[list[str]]:
    batch: list[str] = []
    size = total = 0
    for path in tree.files:
        length = (source / path).stat().st_size
        total += length
        if total > MAX_UPLOAD:
            raise TransferError(f"{source}: more than {MAX_UPLOAD} bytes in all")
        if batch and size + length > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(path)
        size += length
    if batch:
        yield batch
