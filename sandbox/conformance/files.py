"""Files in, and single files: run bits, names, links that leave, errors by kind, nothing written through a link."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sandbox.conformance.checks import check, expect, expect_equal, expect_error
from sandbox.errors import TransferError

if TYPE_CHECKING:
    from sandbox.conformance.stage import Stage

ODD_NAMES = (
    b"sp ace",
    b"new\nline",
    b"-rf",
    b"'quote\"",
    b"$HOME",
    b"back\\slash",
    b"*",
    "ümlaut".encode(),
    b"\xff\xfe",
)
_LEVELS = 40
_BIG = 5 << 20


@check("files.upload", "An uploaded folder has its files, run bits, links and empty folders.")
async def upload_keeps(stage: Stage) -> None:
    """Uploads a small tree and lists it inside."""
    source = stage.folder / "tree"
    (source / "sub/empty").mkdir(parents=True)
    (source / "sub/run.sh").write_text("#!/bin/bash\necho ran\n")
    (source / "sub/run.sh").chmod(0o700)
    (source / "plain").write_bytes(bytes(range(256)) * (_BIG // 256))
    (source / "link").symlink_to("sub/run.sh")
    async with stage.sandbox() as sandbox:
        target = f"{stage.place}/new/target"
        await sandbox.upload(source, target)
        result = await sandbox.exec("find . -mindepth 1 -printf '%y %P %l\\n' | sort", cwd=target)
        wanted = "d sub \nd sub/empty \nf plain \nf sub/run.sh \nl link sub/run.sh\n"
        expect_equal(result.text, wanted, "the tree inside to be", "keep empty folders and links as they are")
        result = await sandbox.exec(["./link"], cwd=target)
        expect_equal(result.stdout, b"ran\n", "the script to say", "keep run bits")
        content = await sandbox.read_file(f"{target}/plain", max_bytes=_BIG)
        expect(content == (source / "plain").read_bytes(), "the same 5 MiB", f"{len(content)} bytes", "change no byte")


@check("files.upload_file", "A single file goes to the path that is named, parents made, run bit kept.")
async def upload_file(stage: Stage) -> None:
    """Uploads one over an older file and over a link."""
    source = stage.folder / "tool"
    source.write_text("#!/bin/bash\necho new\n")
    source.chmod(0o755)
    async with stage.sandbox() as sandbox:
        await sandbox.upload(source, f"{stage.place}/a/b/tool")
        await sandbox.exec("echo kept >kept; ln -s kept link", cwd=stage.place)
        await sandbox.upload(source, f"{stage.place}/link")
        for name in ("a/b/tool", "link"):
            result = await sandbox.exec([f"{stage.place}/{name}"])
            expect_equal(result.stdout, b"new\n", f"{name} to say", "the target is the file's own path")
        kept = await sandbox.read_file(f"{stage.place}/kept")
        expect_equal(kept, b"kept\n", "what a link in the way pointed to to be", "replace the link, don't follow it")


@check("files.upload_replaces", "An upload replaces what is in its way, of whatever kind.")
async def upload_replaces(stage: Stage) -> None:
    """Uploads a folder over a file, a file over a folder, and a file over a file."""
    source = stage.folder / "tree"
    (source / "folder").mkdir(parents=True)
    (source / "folder/in").write_text("in")
    (source / "file").write_text("file")
    (source / "same").write_text("new")
    async with stage.sandbox() as sandbox:
        await sandbox.exec("mkdir -p t/file/x; echo old >t/folder; echo older >t/same", cwd=stage.place)
        await sandbox.upload(source, f"{stage.place}/t")
        result = await sandbox.exec("cat folder/in file same", cwd=f"{stage.place}/t")
        expect_equal(result.stdout, b"infilenew", "the uploaded files to hold", "remove what is in the way first")


@check("files.odd_names", "Names with spaces, newlines, quotes and bytes that are no UTF-8 go in and come out.")
async def odd_names(stage: Stage) -> None:
    """Uploads a folder of such names and downloads it again."""
    source = stage.folder / "odd"
    source.mkdir()
    for name in ODD_NAMES:
        (source / os.fsdecode(name)).write_bytes(name)
    async with stage.sandbox() as sandbox:
        await sandbox.upload(source, f"{stage.place}/odd")
        script = "import os; print(sorted(n for n in os.listdir(b'.') if open(n, 'rb').read() == n))"
        result = await sandbox.exec(["python3", "-c", script], cwd=f"{stage.place}/odd")
        expect_equal(result.text.strip(), repr(sorted(ODD_NAMES)), "the names inside to be", "treat names as bytes")
        await sandbox.download(f"{stage.place}/odd", stage.folder / "back")
        back = sorted(os.fsencode(path.name) for path in (stage.folder / "back").iterdir())
        expect_equal(back, sorted(ODD_NAMES), "the names that came back to be", "treat names as bytes")
        for odd in ("sp ace", "new\nline", "-rf", "'quote\""):
            content = await sandbox.read_file(f"{stage.place}/odd/{odd}")
            expect_equal(content, odd.encode(), f"read_file of {odd!r} to give", "no shell between")


@check("files.deep", "A path of forty folders goes in and comes out.")
async def deep_path(stage: Stage) -> None:
    """Uploads one file at its end."""
    deep = "/".join(f"level-{number:02}" for number in range(_LEVELS))
    source = stage.folder / "deep"
    (source / deep).mkdir(parents=True)
    (source / deep / "file").write_text("bottom")
    async with stage.sandbox() as sandbox:
        await sandbox.upload(source, f"{stage.place}/deep")
        await sandbox.download(f"{stage.place}/deep", stage.folder / "back")
        content = (stage.folder / "back" / deep / "file").read_text()
        expect_equal(content, "bottom", "the file at the bottom to hold", "use no format with short names")


@check("files.upload_refused", "An upload that is missing, no plain file, or has a link that leaves it is refused.")
async def upload_refused(stage: Stage) -> None:
    """Tries each kind."""
    async with stage.sandbox() as sandbox:
        for link in ("/etc/passwd", "../../outside", "sub/../../outside"):
            source = stage.folder / f"tree-{len(link)}"
            (source / "sub").mkdir(parents=True)
            (source / "link").symlink_to(link)
            work = sandbox.upload(source, f"{stage.place}/target")
            await expect_error(
                work, TransferError, f"the upload of a link to {link}", "check links before anything is sent"
            )
        os.mkfifo(stage.folder / "pipe")
        for name in ("pipe", "not-there"):
            work = sandbox.upload(stage.folder / name, f"{stage.place}/target")
            await expect_error(work, TransferError, f"the upload of {name}", "look at what it is without opening it")


@check("files.read", "`read_file` tells by its error what is wrong: nothing there, a folder, too large, no plain file.")
async def read_file_errors(stage: Stage) -> None:
    """Reads one file and what is none."""
    async with stage.sandbox() as sandbox:
        setup = (
            "printf '\\0\\377x' >plain; mkdir dir; ln -s plain link; mkfifo pipe; "
            "ln -s nothing dangling; mkdir real; echo y >real/f; ln -s real d"
        )
        await sandbox.exec(setup, cwd=stage.place)
        content = await sandbox.read_file(f"{stage.place}/plain")
        expect_equal(content, b"\0\xffx", "the bytes to be", "no text on the way")
        content = await sandbox.read_file(f"{stage.place}/plain", max_bytes=3)
        expect_equal(content, b"\0\xffx", "a file of exactly max_bytes to be", "refuse only what is larger")
        content = await sandbox.read_file(f"{stage.place}/d/f")
        expect_equal(content, b"y\n", "a file behind a linked folder to be", "only the last component must be no link")
        for name, kind in (
            ("nothing", FileNotFoundError),
            ("plain/below", (FileNotFoundError, TransferError)),
            ("dir", IsADirectoryError),
        ):
            work = sandbox.read_file(f"{stage.place}/{name}")
            await expect_error(work, kind, f"read_file of {name}", "tell the kinds apart")
        for name in ("link", "dangling", "pipe"):
            work = sandbox.read_file(f"{stage.place}/{name}")
            await expect_error(work, TransferError, f"read_file of {name}", "never follow, never wait for a writer")
        await expect_error(sandbox.read_file("/dev/zero"), TransferError, "read_file of a device", "plain files only")
        work = sandbox.read_file(f"{stage.place}/plain", max_bytes=2)
        await expect_error(work, TransferError, "read_file above max_bytes", "count while reading")


@check("files.write", "`write_file` makes parents, sets the mode, and never writes through a link.")
async def write_file(stage: Stage) -> None:
    """Writes at new paths, over a link to a file and over a link to nothing."""
    async with stage.sandbox() as sandbox:
        data = bytes(range(256)) * 4096
        await sandbox.write_file(f"{stage.place}/a b/c/'file'", data, mode=0o751)
        content = await sandbox.read_file(f"{stage.place}/a b/c/'file'")
        expect(content == data, "the same bytes", f"{len(content)} bytes", "no text on the way")
        mode = await sandbox.exec(["stat", "-c", "%a", f"{stage.place}/a b/c/'file'"])
        expect_equal(mode.text.strip(), "751", "the mode to be", "set it whatever the umask is")
        await sandbox.exec("echo kept >kept; ln -s kept link; ln -s fresh dangling", cwd=stage.place)
        for name in ("link", "dangling"):
            try:
                await sandbox.write_file(f"{stage.place}/{name}", b"through")
            except TransferError:
                continue  # to refuse is fine, too
        result = await sandbox.exec("cat kept; [ -e fresh ] && echo made", cwd=stage.place)
        expect_equal(result.stdout, b"kept\n", "what the links point to to be", "write beside and rename over")


@check("files.write_refused", "`write_file` onto a folder, or below a file, is refused with TransferError.")
async def write_refused(stage: Stage) -> None:
    """Tries both."""
    async with stage.sandbox() as sandbox:
        await sandbox.exec("mkdir folder; touch folder/in file", cwd=stage.place)
        for name in ("folder", "file/below"):
            work = sandbox.write_file(f"{stage.place}/{name}", b"")
            await expect_error(work, TransferError, f"write_file to {name}", "say that the path cannot be written")
        result = await sandbox.exec(["test", "-e", f"{stage.place}/folder/in"])
        expect(result.ok, "the folder to be as it was", "its file is gone", "never remove a folder for a file")


@check("files.remake", "`remake_directory` leaves an empty real folder, whatever was there.")
async def remake_directory(stage: Stage) -> None:
    """Over a file, a link to a folder, a full folder, a dangling link, and nothing."""
    async with stage.sandbox() as sandbox:
        setup = (
            "mkdir kept full full/sub; touch kept/file full/sub/x file; "
            "chmod 0 full/sub; ln -s kept link; ln -s no dangling"
        )
        await sandbox.exec(setup, cwd=stage.place)
        for name in ("file", "link", "full", "dangling", "new/deeper"):
            await sandbox.remake_directory(f"{stage.place}/{name}", mode=0o750)
            result = await sandbox.exec(["find", f"{stage.place}/{name}", "-printf", "%y %m\n"])
            expect_equal(result.text, "d 750\n", f"{name} to be", "remove without following, then make")
        result = await sandbox.exec(["test", "-e", f"{stage.place}/kept/file"])
        expect(result.ok, "what the link pointed to to be whole", "it was emptied", "never follow a link when removing")


@check("files.remove", "`remove` removes a link itself, a file, a whole folder; nothing there is fine.")
async def remove(stage: Stage) -> None:
    """Removes each."""
    async with stage.sandbox() as sandbox:
        setup = (
            "mkdir -p kept full/sub; touch kept/file full/sub/x file; "
            "chmod 0 full/sub; ln -s kept link; ln -s /nothing -- -dangling"
        )
        await sandbox.exec(setup, cwd=stage.place)
        for name in ("file", "link", "full", "-dangling", "never-there", "never/there"):
            await sandbox.remove(f"{stage.place}/{name}")
        result = await sandbox.exec("find . -mindepth 1 | sort", cwd=stage.place)
        expect_equal(
            result.text, "./kept\n./kept/file\n", "what is left to be", "remove what is named and nothing else"
        )
