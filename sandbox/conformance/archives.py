"""Archives: what `pack` writes and `unpack` lays over another sandbox is the same, owners, modes, times and links."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING

from sandbox.conformance.checks import check, expect, expect_equal, expect_error
from sandbox.errors import TransferError

if TYPE_CHECKING:
    from pathlib import Path

    from sandbox.conformance.stage import Stage

_LIST = "find . -mindepth 1 -printf '%y %m %T@ %P %l\\n' | sort"
_TREE = (
    "mkdir -p t/sub t/empty; echo x >t/sub/plain; echo y >t/run; chmod 4755 t/run; chmod 600 t/sub/plain; "
    "chmod 1777 t/empty; ln -s ../run t/sub/link; ln -s /nowhere t/dangling; head -c 70000 /dev/urandom >t/data; "
    "touch -d @1000000000 t/run t/sub/plain t/data t/empty t/sub t; touch -h -d @1100000000 t/sub/link t/dangling; "
    "touch -d @1000000000 t/sub"
)


@check(
    "archives.names", "Names in an archive are absolute paths without the leading slash; what is not there is left out."
)
async def names(stage: Stage) -> None:
    """Packs a folder, a file, and a path that is not there."""
    archive = stage.folder / "packed.tar"
    async with stage.sandbox() as sandbox:
        await sandbox.exec("mkdir -p t/sub; echo x >t/sub/plain; echo y >single", cwd=stage.place)
        paths = [f"{stage.place}/t", f"{stage.place}/single", f"{stage.place}/nothing"]
        await sandbox.pack(paths, archive)
    with tarfile.open(archive, "r:") as packed:  # `r:` takes no compressed one
        found = sorted(member.name.rstrip("/") for member in packed)
    top = stage.place.strip("/")
    wanted = sorted([f"{top}/t", f"{top}/t/sub", f"{top}/t/sub/plain", f"{top}/single"])
    expect_equal([name for name in found if name in wanted], wanted, "the names in it to be", "no ./, no leading slash")
    extra = [name for name in found if name not in wanted and not top.startswith(name)]
    expect(not extra, "nothing else", extra, "pack what is named, at most with its parent folders")


@check(
    "archives.round_trip", "An archive laid over another sandbox gives the same permissions, times, links and bytes."
)
async def round_trip(stage: Stage) -> None:
    """Packs a tree, unpacks it in another sandbox, and compares both lists."""
    archive = stage.folder / "packed.tar"
    async with stage.sandbox() as one:
        await one.exec(_TREE, cwd=stage.place)
        listed = (await one.exec(_LIST, cwd=f"{stage.place}/t")).text
        digest = (await one.exec(["sha256sum", "data"], cwd=f"{stage.place}/t")).text
        await one.pack([f"{stage.place}/t"], archive)
    async with stage.sandbox() as two:
        await two.unpack(archive)
        again = (await two.exec(_LIST, cwd=f"{stage.place}/t")).text
        expect_equal(_whole_seconds(again), _whole_seconds(listed), "the tree to be", "keep modes, times and links")
        same = (await two.exec(["sha256sum", "data"], cwd=f"{stage.place}/t")).text
        expect_equal(same, digest, "the digest to be", "keep every byte")


@check("archives.owners", "Owners in an archive are numbers, as in the sandbox, and come back.", needs=("users",))
async def owners(stage: Stage) -> None:
    """Packs and unpacks files of two other users."""
    archive = stage.folder / "packed.tar"
    async with stage.sandbox() as one:
        await one.exec("mkdir t; touch t/a t/b; chown 1234:4321 t/a; chown nobody t/b", cwd=stage.place)
        await one.pack([f"{stage.place}/t"], archive)
    with tarfile.open(archive, "r:") as packed:
        found = {member.name.rpartition("/")[2]: (member.uid, member.gid) for member in packed if member.isfile()}
    expect_equal(found, {"a": (1234, 4321), "b": (65534, 0)}, "owners in it to be", "write the numbers of the inside")
    async with stage.sandbox() as two:
        await two.unpack(archive)
        result = await two.exec("stat -c '%u %g' a b", cwd=f"{stage.place}/t")
        expect_equal(result.text, "1234 4321\n65534 0\n", "owners after unpack to be", "set them, by number")


@check("archives.odd", "Odd names are packed and come back; sockets are left out; a link is packed, not followed.")
async def odd_entries(stage: Stage) -> None:
    """Packs a folder with names that are no UTF-8, a socket, and a link that is named itself."""
    archive = stage.folder / "packed.tar"
    script = (
        "import os, socket; os.makedirs('t'); names = (b'new\\nline', b'\\xff\\xfe', b'-x'); "
        "[open(b't/' + name, 'wb').write(name) for name in names]; "
        "socket.socket(1).bind('t/socket'); os.symlink('/etc', 'link')"
    )
    async with stage.sandbox() as sandbox:
        await sandbox.exec(["python3", "-c", script], cwd=stage.place)
        await sandbox.pack([f"{stage.place}/t", f"{stage.place}/link"], archive)
        await sandbox.remove(f"{stage.place}/t")
        await sandbox.remove(f"{stage.place}/link")
        await sandbox.unpack(archive)
        script = "import os; print(sorted(os.listdir(b't')), os.readlink('link'))"
        result = await sandbox.exec(["python3", "-c", script], cwd=stage.place)
        wanted = f"{sorted([b'new' + bytes([10]) + b'line', bytes([255, 254]), b'-x'])} /etc\n"
        expect_equal(result.text, wanted, "what comes back to be", "names are bytes (errors='surrogateescape')")


@check("archives.replaces", "`unpack` replaces a file, and does not write through a link that lies where a file goes.")
async def unpack_over_a_link(stage: Stage) -> None:
    """Lays a file over a link to another."""
    archive = stage.folder / "packed.tar"
    async with stage.sandbox() as sandbox:
        await sandbox.exec("echo packed >file; echo kept >kept", cwd=stage.place)
        await sandbox.pack([f"{stage.place}/file"], archive)
        await sandbox.exec("rm file; ln -s kept file", cwd=stage.place)
        await sandbox.unpack(archive)
        result = await sandbox.exec("cat kept file; [ -L file ] && echo link", cwd=stage.place)
        expect_equal(result.stdout, b"kept\npacked\n", "both files to hold", "remove what is in the way first")


@check("archives.size", "`pack` of more than max_bytes is refused with TransferError.")
async def too_large(stage: Stage) -> None:
    """Packs a large file and a sparse one."""
    async with stage.sandbox() as sandbox:
        await sandbox.exec("head -c 300000 /dev/urandom >large; truncate -s 500M sparse", cwd=stage.place)
        for name in ("large", "sparse"):
            work = sandbox.pack([f"{stage.place}/{name}"], stage.folder / f"{name}.tar", max_bytes=200_000)
            await expect_error(work, TransferError, f"pack of {name}", "count while the archive is written")


@check("archives.refused", "An archive that is missing, broken, or leaves the root is refused with TransferError.")
async def refused(stage: Stage) -> None:
    """Unpacks each kind."""
    broken = stage.folder / "broken.tar"
    broken.write_bytes(b"no archive" * 200)
    async with stage.sandbox() as sandbox:
        for archive in (stage.folder / "missing.tar", broken, _leaving(stage.folder / "leaving.tar")):
            work = sandbox.unpack(archive)
            await expect_error(work, TransferError, f"unpack of a {archive.stem} archive", "look before it is laid out")
    expect(not (stage.folder.parent / "envolve-left").exists(), "nothing outside", "a file", "never follow `..`")


def _leaving(path: Path) -> Path:
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("tmp/../../../../../../../../tmp/envolve-left")
        member.size = 1
        archive.addfile(member, io.BytesIO(b"x"))
    return path


def _whole_seconds(listing: str) -> list[str]:
    """The same list with times cut to seconds: an archive need not keep their fractions."""
    lines = [line.split(" ", 3) for line in listing.splitlines()]
    return [" ".join([kind, mode, time.partition(".")[0], rest]) for kind, mode, time, rest in lines]
