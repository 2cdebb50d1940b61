"""Files in and out of a container whose agent has prepared for it."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox.errors import TransferError

if TYPE_CHECKING:
    from sandbox.docker.backend import DockerBackend
    from sandbox.docker.sandbox import DockerSandbox
    from sandbox.protocol import Image

pytestmark = [pytest.mark.outside, pytest.mark.asyncio(loop_scope="session")]


def tree(root: Path) -> dict[str, str]:
    """What is in a folder: text, run bit and links."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = path.read_text() + ("*" if path.stat().st_mode & 0o100 else "")
        else:
            found[name] = "/"
    return found


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    (root / "sub/deep").mkdir(parents=True)
    (root / "empty").mkdir()
    (root / "plain.txt").write_text("plain")
    (root / "sub/run.sh").write_text("#!/bin/sh\n")
    (root / "sub/run.sh").chmod(0o700)
    (root / "sub/deep/päth with space").write_text("ü")
    (root / "sub/link").symlink_to("../plain.txt")
    (root / "dangling").symlink_to("nothing-here")
    return root


async def test_a_tree_goes_in_and_comes_out_the_same(sandbox: DockerSandbox, source: Path, tmp_path: Path) -> None:
    await sandbox.upload(source, "/data/in here")
    await sandbox.download("/data/in here", tmp_path / "back")
    assert tree(tmp_path / "back") == tree(source)
    assert (await sandbox.exec("stat -c '%a %u' '/data/in here/sub/run.sh'")).text == "755 0\n"
    await sandbox.upload(source / "sub/run.sh", "/opt/tool")
    assert (await sandbox.exec(["/opt/tool"])).ok
    await sandbox.download("/opt/tool", tmp_path / "a/b/tool")
    assert (tmp_path / "a/b/tool").stat().st_mode & 0o100


async def test_an_upload_replaces_what_is_in_its_way_and_goes_through_no_link(
    sandbox: DockerSandbox, source: Path
) -> None:
    await sandbox.exec(
        "mkdir -p /t/plain.txt/x /t/mine /elsewhere && ln -s /elsewhere /t/sub && echo old >/t/mine/old; "
        "ln -s /elsewhere /target; echo keep >/kept; ln -s /kept /file; chmod 1777 /t"
    )
    await sandbox.upload(source, "/t")
    await sandbox.upload(source, "/target")
    await sandbox.upload(source / "plain.txt", "/file")
    await sandbox.write_file("/file", b"written")
    look = "cat /t/plain.txt /t/mine/old; ls /elsewhere; cat /kept /file; [ -L /target ] || stat -c %a /t"
    assert (await sandbox.exec(look)).text == "plainold\nkeep\nwritten1777\n"


@pytest.mark.parametrize("link", ["/etc/passwd", "../../outside", "deep/../../../outside"])
async def test_an_upload_refuses_links_that_leave_the_folder(sandbox: DockerSandbox, source: Path, link: str) -> None:
    (source / "sub/evil").symlink_to(link)
    with pytest.raises(TransferError, match="sub/evil: a link that leaves"):
        await sandbox.upload(source, "/data")


async def test_what_is_no_file_is_refused_both_ways(sandbox: DockerSandbox, source: Path, tmp_path: Path) -> None:
    with pytest.raises(TransferError, match="nothing there"):
        await sandbox.upload(tmp_path / "missing", "/data")
    os.mkfifo(source / "pipe")
    with pytest.raises(TransferError, match="pipe"):
        await sandbox.upload(source, "/data")
    with pytest.raises(TransferError, match="absolute"):
        await sandbox.upload(source / "plain.txt", "relative/path")
    await sandbox.exec("mkdir -p /p && mkfifo /p/pipe && echo x >/p/plain")
    await sandbox.download("/p", tmp_path / "p")
    assert [path.name for path in (tmp_path / "p").iterdir()] == ["plain"]
    with pytest.raises(TransferError, match="pipe: a pipe"):
        await sandbox.download("/p/pipe", tmp_path / "one")
    with pytest.raises(TransferError, match="nothing there"):
        await sandbox.download("/missing", tmp_path / "missing")


async def test_links_of_the_agent_end_inside(sandbox: DockerSandbox, tmp_path: Path) -> None:
    (tmp_path / "host-file").write_text("of the host")
    await sandbox.exec(f"mkdir -p /w && ln -s {tmp_path} /w/folder && ln -s ../../../../../.. /w/up; ln -s /w/a /w/a")
    with pytest.raises(FileNotFoundError):
        await sandbox.read_file("/w/folder/host-file")
    assert b"root:x:0" in await sandbox.read_file("/w/up/etc/passwd")
    with pytest.raises(TransferError):
        await sandbox.write_file("/w/folder/written", b"where no folder is")
    with pytest.raises(TransferError):
        await sandbox.write_file("/w/a/circle", b"")
    await sandbox.exec(["mkdir", "-p", str(tmp_path)])
    await sandbox.write_file("/w/folder/written", b"inside")
    assert not (tmp_path / "written").exists()
    assert await sandbox.read_file(f"{tmp_path}/written") == b"inside"


async def test_a_download_keeps_links_as_links_and_goes_through_none_of_this_machine(
    sandbox: DockerSandbox, tmp_path: Path
) -> None:
    await sandbox.exec(
        "mkdir -p /d/sub && ln -s /etc /d/etc && ln -s /etc/shadow /d/sub/s && ln -s /d /alias && "
        "echo x >/d/f && ln /d/f /d/sub/twin"
    )
    await sandbox.download("/d", tmp_path / "d")
    there = {"etc": "-> /etc", "f": "x\n", "sub": "/", "sub/s": "-> /etc/shadow", "sub/twin": "x\n"}
    assert tree(tmp_path / "d") == there
    await sandbox.download("/alias", tmp_path / "alias")
    assert (tmp_path / "alias").readlink() == Path("/d")
    await sandbox.exec("rm /d/etc && mkdir /d/etc && echo evil >/d/etc/planted")
    await sandbox.download("/d", tmp_path / "d")
    assert tree(tmp_path / "d")["etc/planted"] == "evil\n"


async def test_a_download_is_capped(sandbox: DockerSandbox, tmp_path: Path) -> None:
    await sandbox.exec("mkdir /big && for i in 1 2 3; do head -c 300000 /dev/zero >/big/$i; done; truncate -s 6M /thin")
    with pytest.raises(TransferError, match="more than 500000 bytes"):
        await sandbox.download("/big", tmp_path / "big", max_bytes=500_000)
    with pytest.raises(TransferError, match="more than"):
        await sandbox.download("/thin", tmp_path / "thin", max_bytes=1 << 20)
    assert not (tmp_path / "thin").exists()
    await sandbox.exec("mkdir /many; cp /big/1 /many/0; for i in $(seq 50); do ln /many/0 /many/$i; done")
    with pytest.raises(TransferError, match="more than 1000000 bytes"):
        await sandbox.download("/many", tmp_path / "many", max_bytes=1_000_000)


async def test_reading_and_writing_one_file(sandbox: DockerSandbox) -> None:
    await sandbox.exec(r"printf 'a\0\377' >/f; ln -s /f /link; mkfifo /pipe; head -c 2000 /dev/zero >/big")
    assert await sandbox.read_file("/f") == b"a\0\xff"
    for path in ("/no", "/f/below"):
        with pytest.raises(FileNotFoundError):
            await sandbox.read_file(path)
    with pytest.raises(IsADirectoryError):
        await sandbox.read_file("/etc")
    for path in ("/link", "/pipe", "/dev/null"):
        with pytest.raises(TransferError):
            await sandbox.read_file(path)
    with pytest.raises(TransferError, match="more than 1000"):
        await sandbox.read_file("/big", max_bytes=1000)
    await sandbox.write_file("/new/folders/f", b"\0binary\xff", mode=0o750)
    assert (await sandbox.exec("stat -c '%a %u %g' /new/folders/f; ls -A /new/folders")).text == "750 0 0\nf\n"
    for path in ("/new/folders", "/new/folders/f/below", "/proc/sys/kernel/x", "/etc/..", "/", "/tmp/.", "", "x"):
        with pytest.raises(TransferError):
            await sandbox.write_file(path, b"")


async def test_remaking_and_removing_ask_no_program_of_the_agents(sandbox: DockerSandbox) -> None:
    await sandbox.exec(
        "mkdir -p /keep /tests/a/b /gone/a && echo x >/keep/f && touch /tests/a/b/c /gone/a/b && chmod -R 0 /tests; "
        "ln -s /keep /logs; ln -s /keep /also; cp /bin/true /bin/rm; cp /bin/true /bin/mkdir"
    )
    await sandbox.remake_directory("/tests")
    await sandbox.remake_directory("/logs", mode=0o777)
    await sandbox.remake_directory("/new/one")
    for path in ("/gone", "/also", "/nothing/here"):
        await sandbox.remove(path)
    result = await sandbox.exec(
        "ls -A /tests /logs; cat /keep/f; stat -c '%F %a' /tests /logs /new/one; ls -d /gone /also"
    )
    assert result.text == "/logs:\n\n/tests:\nx\ndirectory 755\ndirectory 777\ndirectory 755\n"


async def test_packed_files_go_over_with_owners_permissions_and_links(
    sandbox: DockerSandbox, backend: DockerBackend, image: Image, tmp_path: Path
) -> None:
    await sandbox.exec(
        "mkdir -p /d/sub && echo x >/d/f && chown 12:34 /d/f && chmod 4750 /d/f && ln /d/f /d/twin && ln -s f /d/link && "
        "mknod /d/null c 1 3; echo one >/etc/one; touch -d @1000000000 /etc/one"
    )
    await sandbox.pack(["/d", "/etc/one", "/not/there", "/d/f"], tmp_path / "packed.tar")
    with tarfile.open(tmp_path / "packed.tar") as archive:
        assert set(archive.getnames()) == {"d", "d/sub", "d/f", "d/twin", "d/link", "etc/one"}
    with pytest.raises(TransferError, match="more than"):
        await sandbox.pack(["/usr/lib"], tmp_path / "large.tar", max_bytes=100_000)
    other = await backend.start(image)
    try:
        await other.unpack(tmp_path / "packed.tar")
        result = await other.exec(
            "stat -c '%a %u %g' /d/f; readlink /d/link; stat -c '%h' /d/twin; stat -c %Y /etc/one"
        )
        assert result.text == "4750 12 34\nf\n2\n1000000000\n"
    finally:
        await other.stop()


async def test_an_archive_that_leaves_the_root_is_refused(sandbox: DockerSandbox, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "evil.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("../evil"))
    with pytest.raises(TransferError, match="leaves the root"):
        await sandbox.unpack(tmp_path / "evil.tar")
    with pytest.raises(TransferError):
        await sandbox.unpack(tmp_path / "missing.tar")


async def test_changes_are_told_from_outside(sandbox: DockerSandbox) -> None:
    assert await sandbox.changed_files() == ()
    await sandbox.exec(
        "mkdir -p /srv/new/sub; echo x >/srv/new/sub/f; rm /srv/base; echo y >>/etc/hostname.d; chmod 600 /etc/passwd"
    )
    found = {change.path: change.kind for change in await sandbox.changed_files()}
    assert found == {
        "/etc/hostname.d": "added",
        "/etc/passwd": "changed",
        "/srv/base": "removed",
        "/srv/new": "added",
        "/srv/new/sub": "added",
        "/srv/new/sub/f": "added",
    }
    assert [change.path for change in await sandbox.changed_files(("/srv/new/sub", "/etc/passwd"))] == [
        "/etc/passwd",
        "/srv/new/sub",
        "/srv/new/sub/f",
    ]
