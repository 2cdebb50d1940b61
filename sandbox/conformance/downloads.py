"""Files out: what an agent left there to harm the one who fetches it stays without effect."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from sandbox.conformance.checks import check, expect, expect_equal, expect_error
from sandbox.errors import TransferError

if TYPE_CHECKING:
    from sandbox.conformance.stage import Stage


@check("downloads.tree", "A downloaded folder has its files, run bits and empty folders; links come as links.")
async def download_tree(stage: Stage) -> None:
    """Downloads a tree with a link to this machine's own files."""
    async with stage.sandbox() as sandbox:
        setup = (
            "mkdir -p t/sub/empty; echo x >t/sub/plain; echo run >t/run; chmod 755 t/run; "
            "ln -s /etc t/abs; ln -s ../../.. t/up"
        )
        await sandbox.exec(setup, cwd=stage.place)
        target = stage.folder / "new" / "target"
        await sandbox.download(f"{stage.place}/t", target)
        found = sorted(str(path.relative_to(target)) for path in target.rglob("*") if not path.is_symlink())
        expect_equal(found, ["run", "sub", "sub/empty", "sub/plain"], "the tree to be", "keep empty folders")
        links = sorted((path.name, str(path.readlink())) for path in target.iterdir() if path.is_symlink())
        expect_equal(links, [("abs", "/etc"), ("up", "../../..")], "the links to be", "copy links, never follow them")
        expect((target / "run").stat().st_mode & 0o100, "a run bit", oct((target / "run").stat().st_mode), "keep it")
        owner = (target / "sub/plain").stat().st_uid
        expect_equal(owner, os.geteuid(), "the owner here to be", "files that come out are ours")


@check("downloads.link", "A link that is named itself comes as a link or is refused, and is never followed.")
async def download_link(stage: Stage) -> None:
    """Downloads one that points to a file."""
    async with stage.sandbox() as sandbox:
        await sandbox.exec("echo secret >secret; ln -s secret link", cwd=stage.place)
        target = stage.folder / "link"
        try:
            await sandbox.download(f"{stage.place}/link", target)
        except TransferError:
            return
        expect(target.is_symlink(), "a link", "a file", "copy links, never follow them")


@check("downloads.through_link", "A download never writes through a link that lies at its target.")
async def target_is_a_link(stage: Stage) -> None:
    """Downloads onto a link of this machine."""
    (stage.folder / "kept").write_text("kept")
    (stage.folder / "target").symlink_to("kept")
    async with stage.sandbox() as sandbox:
        await sandbox.write_file(f"{stage.place}/file", b"new")
        await sandbox.download(f"{stage.place}/file", stage.folder / "target")
    expect_equal((stage.folder / "kept").read_text(), "kept", "what the link pointed to to be", "replace the link")
    expect_equal((stage.folder / "target").read_text(), "new", "the downloaded file to hold", "write the file")


@check("downloads.swapped_folder", "A second download into a folder does not leave it by a link of the first.")
async def swapped_folder(stage: Stage) -> None:
    """First a link `d` to a folder beside, then a folder `d` with a file."""
    outside = stage.folder / "outside"
    outside.mkdir()
    async with stage.sandbox() as sandbox:
        await sandbox.exec(["mkdir", "-p", "t"], cwd=stage.place)
        await sandbox.exec(["ln", "-s", str(outside), "t/d"], cwd=stage.place)
        await sandbox.download(f"{stage.place}/t", stage.folder / "into")
        await sandbox.exec("rm t/d; mkdir t/d; echo harm >t/d/file", cwd=stage.place)
        with suppress(TransferError):  # to refuse is fine, too
            await sandbox.download(f"{stage.place}/t", stage.folder / "into")
    expect(not list(outside.iterdir()), "nothing outside of the target", "a file", "follow no link in the target")


@check("downloads.special", "No pipe, socket or device comes out, and none is opened.")
async def special_files(stage: Stage) -> None:
    """Names a pipe and a device, then a folder with a pipe and a socket in it."""
    async with stage.sandbox() as sandbox:
        setup = (
            "mkdir t; mkfifo t/pipe; echo x >t/plain; python3 -c 'import socket; socket.socket(1).bind(\"t/socket\")'"
        )
        await sandbox.exec(setup, cwd=stage.place)
        for path in (f"{stage.place}/t/pipe", "/dev/zero", "/dev/null"):
            await expect_error(
                sandbox.download(path, stage.folder / "x"), TransferError, f"download of {path}", "refuse it"
            )
        target = stage.folder / "t"
        try:
            await sandbox.download(f"{stage.place}/t", target)
        except TransferError:
            return
        odd = [path.name for path in target.iterdir() if not path.is_file()]
        expect(not odd, "plain files only", odd, "leave them out, or refuse the whole")


@check("downloads.size", "A download of more than max_bytes is refused, also where a file only looks small.")
async def too_large(stage: Stage) -> None:
    """Downloads a large file, a sparse one, and many small ones."""
    async with stage.sandbox() as sandbox:
        setup = (
            "head -c 300000 /dev/zero >large; truncate -s 900G sparse || truncate -s 100M sparse; "
            "mkdir many; for i in $(seq 30); do head -c 10000 /dev/zero >many/$i; done"
        )
        await sandbox.exec(setup, cwd=stage.place)
        for name in ("large", "sparse", "many"):
            work = sandbox.download(f"{stage.place}/{name}", stage.folder / name, max_bytes=200_000)
            await expect_error(
                work, TransferError, f"download of {name}", "count bytes while they come, over all files"
            )
        await sandbox.download(f"{stage.place}/large", stage.folder / "fits", max_bytes=300_000)
        expect_equal((stage.folder / "fits").stat().st_size, 300_000, "a file of exactly max_bytes to have", "allow it")


@check("downloads.missing", "A download of what is not there raises TransferError and leaves nothing.")
async def nothing_there(stage: Stage) -> None:
    """Names a path that is not there, and one below a file."""
    async with stage.sandbox() as sandbox:
        await sandbox.exec("touch file", cwd=stage.place)
        for name in ("nothing", "file/below"):
            target = stage.folder / "target"
            work = sandbox.download(f"{stage.place}/{name}", target)
            await expect_error(work, TransferError, f"download of {name}", "say that nothing is there")
            expect(
                not (target.is_symlink() or target.exists()), "no target", "one", "make it only when something comes"
            )
