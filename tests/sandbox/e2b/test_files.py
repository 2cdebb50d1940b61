"""Files in and out of a sandbox in the cloud, what an agent may have put in their place, and what changed."""

from __future__ import annotations

import os
import tarfile
from typing import TYPE_CHECKING

import pytest

from sandbox.errors import TransferError, UnsupportedTaskError
from sandbox.protocol import Change

if TYPE_CHECKING:
    from pathlib import Path

    from sandbox.e2b.backend import E2BBackend
    from sandbox.e2b.sandbox import E2BSandbox

BYTES = bytes(range(256)) * 100


async def test_a_file_is_written_and_read_as_it_is(sandbox: E2BSandbox) -> None:
    await sandbox.write_file("/made/here/run.sh", BYTES, mode=0o755)
    assert await sandbox.read_file("/made/here/run.sh") == BYTES
    said = await sandbox.exec("stat -c '%a %U' /made/here/run.sh /made/here; ls -A /made/here")
    assert said.text.split() == ["755", "root", "755", "root", "run.sh"]


async def test_what_cannot_be_read_is_told_apart(sandbox: E2BSandbox) -> None:
    await sandbox.exec("mkdir /d; mkfifo /pipe; ln -s /etc/passwd /link; echo long > /long")
    with pytest.raises(FileNotFoundError):
        await sandbox.read_file("/nothing")
    with pytest.raises(FileNotFoundError):
        await sandbox.read_file("/etc/passwd/below")
    with pytest.raises(IsADirectoryError):
        await sandbox.read_file("/d")
    for path in ("/pipe", "/link", "../etc/passwd"):
        with pytest.raises(TransferError):
            await sandbox.read_file(path)
    with pytest.raises(TransferError, match="more than 3"):
        await sandbox.read_file("/long", max_bytes=3)


async def test_nothing_is_written_through_a_link(sandbox: E2BSandbox, tmp_path: Path) -> None:
    await sandbox.exec("echo kept > /victim; ln -s /victim /a; ln -s /victim /b; mkdir /c; ln -s /victim /c/x")
    await sandbox.write_file("/a", b"new")
    (tmp_path / "file").write_bytes(b"new")
    await sandbox.upload(tmp_path / "file", "/b")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "x").write_bytes(b"new")
    await sandbox.upload(tmp_path / "c", "/c")
    assert (await sandbox.exec("cat /victim /a /b /c/x")).text == "kept\nnewnewnew"
    assert not (await sandbox.exec("find /a /b /c -type l -o -name '*.part'")).text


async def test_a_folder_is_not_replaced_by_a_written_file(sandbox: E2BSandbox) -> None:
    await sandbox.exec("mkdir -p /d/inner")
    with pytest.raises(TransferError):
        await sandbox.write_file("/d", b"")
    assert (await sandbox.exec("ls -A / | grep part; ls /d")).text == "inner\n"


async def test_a_folder_goes_in_and_out_with_run_bits_and_links(sandbox: E2BSandbox, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "empty").mkdir(parents=True)
    (source / "bin").mkdir()
    (source / "bin" / "tool").write_bytes(BYTES)
    (source / "bin" / "tool").chmod(0o755)
    (source / "plain").write_text("text")
    (source / "link").symlink_to("bin/tool")
    await sandbox.upload(source, "/in")
    said = await sandbox.exec("cd /in; find . | sort; stat -c %a bin/tool plain; readlink link")
    assert said.text.split() == [".", "./bin", "./bin/tool", "./empty", "./link", "./plain", "755", "644", "bin/tool"]
    await sandbox.exec("ln -s /etc/passwd /in/outside")
    await sandbox.download("/in", tmp_path / "out")
    out = tmp_path / "out"
    assert (out / "bin" / "tool").read_bytes() == BYTES
    assert (out / "bin" / "tool").stat().st_mode & 0o111
    assert (out / "empty").is_dir()
    assert (out / "outside").readlink().as_posix() == "/etc/passwd"
    await sandbox.download("/in/plain", tmp_path / "one")
    assert (tmp_path / "one").read_text() == "text"
    with pytest.raises(TransferError, match="nothing there"):
        await sandbox.download("/nothing", tmp_path / "none")
    with pytest.raises(TransferError, match="more than"):
        await sandbox.download("/in", tmp_path / "large", max_bytes=1000)


async def test_an_upload_lies_over_a_folder_that_is_there(sandbox: E2BSandbox, tmp_path: Path) -> None:
    await sandbox.exec("mkdir -p /in/sub /in/file; echo old > /in/sub/a; echo kept > /in/sub/b; echo x > /in/kept")
    (tmp_path / "s" / "sub").mkdir(parents=True)
    (tmp_path / "s" / "sub" / "a").write_text("new")
    (tmp_path / "s" / "file").write_text("file")
    await sandbox.upload(tmp_path / "s", "/in")
    assert (await sandbox.exec("cd /in; cat sub/a sub/b kept file")).text == "newkept\nx\nfile"


async def test_names_that_fit_into_no_request_go_in_and_lie_over_what_is_there(
    sandbox: E2BSandbox, tmp_path: Path
) -> None:
    names = [b"\xff", b'qu"ote', b"line\nend", b"back\\slash"]
    source = tmp_path / "source"
    (source / os.fsdecode(b"\xfe-folder")).mkdir(parents=True)
    for name in names:
        (source / os.fsdecode(name)).write_bytes(name)
        (source / os.fsdecode(b"\xfe-folder/" + name)).write_bytes(name)
    (source / "link").symlink_to(os.fsdecode(b"\xff"))
    before = "import os; os.mkdir('/in'); open('/victim', 'w').write('kept'); os.symlink('/victim', b'/in/\\xff')"
    await sandbox.exec(["python3", "-c", before])
    await sandbox.upload(source, "/in")
    await sandbox.upload(source, "/in")
    look = (
        "import os; print(sorted((n, open(b'/in/' + n, 'rb').read() == n) for n in os.listdir(b'/in')"
        " if n not in (b'link', b'\\xfe-folder')), len(os.listdir(b'/in/\\xfe-folder')), open('/victim').read(), "
        "os.readlink(b'/in/link'))"
    )
    said = await sandbox.exec(["python3", "-c", look])
    assert said.text == f"{[(name, True) for name in sorted(names)]} {len(names)} kept {os.fsencode(chr(0xDCFF))}\n"
    with pytest.raises(TransferError, match="UTF-8"):
        await sandbox.read_file("/in/" + os.fsdecode(b"\xff"))


async def test_a_folder_that_cannot_be_listed_is_said_and_not_left_out(sandbox: E2BSandbox) -> None:
    await sandbox.exec(["python3", "-c", "open(b'/opt/\\xff', 'w'); open(b'/opt/hidden', 'w')"])
    with pytest.raises(UnsupportedTaskError, match="cannot list /opt"):
        await sandbox.changed_files(("/opt",))
    await sandbox.exec("rm /opt/*")
    assert await sandbox.changed_files(("/opt",)) == ()


@pytest.mark.parametrize("make", ["outside", "absolute", "pipe"])
async def test_a_tree_that_must_not_go_in_is_refused(sandbox: E2BSandbox, tmp_path: Path, make: str) -> None:
    source = tmp_path / "source"
    source.mkdir()
    if make == "pipe":
        os.mkfifo(source / "pipe")
    else:
        (source / "link").symlink_to("../x" if make == "outside" else "/etc/passwd")
    with pytest.raises(TransferError):
        await sandbox.upload(source, "/in")
    with pytest.raises(TransferError):
        await sandbox.upload(tmp_path / "missing", "/in")
    assert (await sandbox.exec("ls -d /in")).exit_code == 2


async def test_folders_are_remade_and_things_removed_and_links_not_followed(sandbox: E2BSandbox) -> None:
    await sandbox.exec("mkdir -p /real/kept; ln -s /real /link; ln -s /real /gone; mkdir /full; touch /full/x")
    await sandbox.remake_directory("/link", mode=0o777)
    await sandbox.remake_directory("/full")
    await sandbox.remove("/gone")
    await sandbox.remove("/nothing/there")
    said = await sandbox.exec("stat -c '%F %a' /link /full; ls -A /link /full; ls /real; ls /gone")
    assert said.text == "directory 777\ndirectory 755\n/full:\n\n/link:\nkept\n"
    for path in ("/", "relative", "/a/../../etc"):
        with pytest.raises(TransferError):
            await sandbox.remove(path)


async def test_archives_keep_owners_modes_and_links(sandbox: E2BSandbox, tmp_path: Path) -> None:
    await sandbox.exec(
        "mkdir -p /p/d; echo a > /p/d/a; chmod 640 /p/d/a; chown 12:34 /p/d/a; ln -s a /p/d/l; mkfifo /p/f"
    )
    await sandbox.pack(["/p", "/nothing"], tmp_path / "p.tar")
    with tarfile.open(tmp_path / "p.tar") as archive:
        found = {member.name: member for member in archive}
    assert sorted(found) == ["p", "p/d", "p/d/a", "p/d/l", "p/f"]
    assert (found["p/d/a"].uid, found["p/d/a"].gid, found["p/d/a"].mode & 0o777) == (12, 34, 0o640)
    await sandbox.exec("rm -r /p")
    await sandbox.unpack(tmp_path / "p.tar")
    assert (await sandbox.exec("stat -c '%u %g %a' /p/d/a; readlink /p/d/l")).text == "12 34 640\na\n"
    await sandbox.pack(["/nothing"], tmp_path / "none.tar")
    with tarfile.open(tmp_path / "none.tar") as archive:
        assert archive.getnames() == []
    with pytest.raises(TransferError):
        await sandbox.pack(["/p"], tmp_path / "small.tar", max_bytes=1)


async def test_an_archive_that_leaves_the_root_is_refused(sandbox: E2BSandbox, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "bad.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("a/../../outside"))
    with pytest.raises(TransferError, match="leaves the root"):
        await sandbox.unpack(tmp_path / "bad.tar")


async def test_changes_are_seen_from_outside(sandbox: E2BSandbox) -> None:
    await sandbox.exec(
        "cd /etc; echo x >> hostname; chmod 600 hosts; rm -r profile; mkdir -p new/deep; touch new/deep/er; "
        "ln -sfn /tmp/x localtime; ln -s nowhere dangling"
    )
    changed = await sandbox.changed_files(("/etc", "/opt", "/nothing"))
    found = {change.path: change.kind for change in changed}
    assert found["/etc/new"] == found["/etc/new/deep/er"] == found["/etc/dangling"] == "added"
    assert found["/etc/profile"] == "removed"
    assert list(changed) == sorted(changed, key=lambda change: change.path)
    untouched = await sandbox.changed_files(("/usr/local",))
    assert untouched == ()


async def test_a_rewritten_file_and_a_removed_folder_are_each_one_change(
    backend: E2BBackend, sandbox: E2BSandbox
) -> None:
    await sandbox.exec("mkdir -p /opt/d/e; touch /opt/d/e/f; echo one > /opt/g")
    snapshot = await sandbox.snapshot()
    from sandbox.protocol import Image

    image = Image(snapshot.reference)
    started = await backend.start(image)
    await started.exec("rm -r /opt/d; echo two > /opt/g")
    assert await started.changed_files(("/opt",)) == (Change("/opt/d", "removed"), Change("/opt/g", "changed"))
    await started.stop()
    await backend.discard(snapshot)
