"""Uploads what has a name that the service does not take: such files travel in an archive.

Names that are no UTF-8 fit into no request, and quotes, backslashes and line ends do not come through a form as they
are.

The sandbox's own `tar` and `bash` lay them out. Both are given names as bytes: in the archive, and as `printf %b` reads
them.
"""

from __future__ import annotations

import asyncio
import os
import re
import tarfile
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.e2b import files
from sandbox.e2b.failures import attempted
from sandbox.e2b.trees import Tree

if TYPE_CHECKING:
    from sandbox.e2b.wire import Wire

_AT_ONCE = 500
_NOT_IN_FORMS = re.compile(r'["\\\x00-\x1f\x7f]')


def split(tree: Tree) -> tuple[Tree, Tree]:
    """What the service takes by name, and what it does not: also a link that says such a name."""
    plain, odd = Tree(), Tree()
    for path in tree.folders:
        (plain if _is_taken(path) else odd).folders.append(path)
    for path, runs in tree.files.items():
        (plain if _is_taken(path) else odd).files[path] = runs
    for path, link in tree.links.items():
        (plain if _is_taken(path) and _is_taken(link) else odd).links[path] = link
    return plain, odd


async def put_odd(wire: Wire, source: Path, odd: Tree, folder: str) -> None:
    """Writes files, folders and links of a local folder into a folder of the sandbox.

    Raises:
        SandboxError: The sandbox has no `tar`, or the service failed.
    """
    part = files.aside(folder)
    with tempfile.TemporaryDirectory() as here:
        archive = Path(here) / "odd.tar"
        await asyncio.to_thread(_write, archive, source, odd)

        async def send() -> None:
            with archive.open("rb") as file:
                await wire.cloud.files.write(part, file, user="root")

        await attempted(f"upload of {source}", send)
    try:
        await wire.run_tool("tar", "-x", "-p", "--numeric-owner", "-f", part, "-C", folder)
    finally:
        await files.erase(wire, part)


async def lay_odd(wire: Wire, odd: Tree, part: str, target: str) -> None:
    """Moves what `put_odd` wrote over what lies in another folder."""
    entries = [("folder", path) for path in odd.folders] + [("other", path) for path in (*odd.files, *odd.links)]
    for begin in range(0, len(entries), _AT_ONCE):
        words = [word for kind, path in entries[begin : begin + _AT_ONCE] for word in (kind, _escaped(path))]
        await wire.run_script("lay.sh", part, target, *words)


def _write(archive: Path, source: Path, odd: Tree) -> None:
    now = time.time()
    with tarfile.open(archive, "w", format=tarfile.GNU_FORMAT, errors="surrogateescape") as opened:
        for path in odd.folders:
            opened.addfile(_member(path, tarfile.DIRTYPE, 0o755, now))
        for path, runs in odd.files.items():
            member = _member(path, tarfile.REGTYPE, 0o755 if runs else 0o644, now)
            with (source / path).open("rb") as file:
                member.size = os.fstat(file.fileno()).st_size
                opened.addfile(member, file)
        for path, link in odd.links.items():
            member = _member(path, tarfile.SYMTYPE, 0o777, now)
            member.linkname = link
            opened.addfile(member)


def _member(path: str, kind: bytes, mode: int, now: float) -> tarfile.TarInfo:
    member = tarfile.TarInfo(path)
    member.type, member.mode, member.mtime = kind, mode, int(now)
    return member


def _is_taken(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return not _NOT_IN_FORMS.search(name)


def _escaped(path: str) -> str:
    return "".join(f"\\0{byte:03o}" for byte in os.fsencode(path))
