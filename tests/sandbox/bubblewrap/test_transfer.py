"""Files in and out, with an agent inside that has prepared for it."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox.errors import TransferError

if TYPE_CHECKING:
    from sandbox.protocol import Sandbox


def tree(root: Path) -> dict[str, str]:
    """What is in a folder: text, run bit and links."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = path.read_text() + ("*" if os.access(path, os.X_OK) and path.stat().st_mode & 0o100 else "")
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


async def test_a_tree_goes_in_and_comes_out_the_same(sandbox: Sandbox, source: Path, tmp_path: Path) -> None:
    await sandbox.upload(source, "/data/in here")
    await sandbox.download("/data/in here", tmp_path / "back")
    assert tree(tmp_path / "back") == tree(source)
    assert (await sandbox.exec("stat -c '%a %u' '/data/in here/sub/run.sh'")).text == "755 0\n"


async def test_a_single_file_goes_in_and_comes_out(sandbox: Sandbox, source: Path, tmp_path: Path) -> None:
    await sandbox.upload(source / "sub/run.sh", "/opt/tool")
    assert (await sandbox.exec(["/opt/tool"])).ok
    await sandbox.download("/opt/tool", tmp_path / "a/b/tool")
    assert (tmp_path / "a/b/tool").read_text() == "#!/bin/sh\n"
    assert (tmp_path / "a/b/tool").stat().st_mode & 0o100


async def test_an_upload_replaces_what_is_in_its_way_and_keeps_what_is_not(sandbox: Sandbox, source: Path) -> None:
    await sandbox.exec("mkdir -p /t/plain.txt/x /t/mine /elsewhere && ln -s /elsewhere /t/sub && echo old >/t/mine/old")
    await sandbox.upload(source, "/t")
    assert (await sandbox.exec("cat /t/plain.txt /t/mine/old; ls /elsewhere; readlink /t/sub")).text == "plainold\n"


async def test_an_upload_never_writes_through_a_link_in_its_place(sandbox: Sandbox, source: Path) -> None:
    await sandbox.exec("mkdir /elsewhere; ln -s /elsewhere /target; echo keep >/kept; ln -s /kept /file")
    await sandbox.upload(source, "/target")
    await sandbox.upload(source / "plain.txt", "/file")
    await sandbox.write_file("/file", b"written")
    result = await sandbox.exec(
        "ls /elsewhere; cat /kept; [ -L /target ] && echo link; [ -L /file ] && echo link; cat /file"
    )
    assert result.text == "keep\nwritten"


@pytest.mark.parametrize("link", ["/etc/passwd", "../../outside", "deep/../../../outside"])
async def test_an_upload_refuses_links_that_leave_the_folder(sandbox: Sandbox, source: Path, link: str) -> None:
    (source / "sub/evil").symlink_to(link)
    with pytest.raises(TransferError, match="sub/evil: a link that leaves"):
        await sandbox.upload(source, "/data")


async def test_an_upload_refuses_what_is_no_file(sandbox: Sandbox, source: Path, tmp_path: Path) -> None:
    with pytest.raises(TransferError, match="nothing there"):
        await sandbox.upload(tmp_path / "missing", "/data")
    os.mkfifo(source / "pipe")
    with pytest.raises(TransferError, match="pipe"):
        await sandbox.upload(source, "/data")
    with pytest.raises(TransferError, match="absolute"):
        await sandbox.upload(source / "plain.txt", "relative/path")


async def test_links_of_the_agent_end_inside(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "host-file").write_text("of the host")
    await sandbox.exec(f"mkdir -p /w && ln -s {tmp_path} /w/folder && ln -s / /w/root && ln -s ../../../../../.. /w/up")
    with pytest.raises(FileNotFoundError):
        await sandbox.read_file("/w/folder/host-file")
    assert b"root:x:0" in await sandbox.read_file("/w/up/etc/passwd")
    with pytest.raises(TransferError):
        await sandbox.write_file("/w/folder/written", b"where no folder is")
    await sandbox.exec(["mkdir", "-p", str(tmp_path)])
    await sandbox.write_file("/w/folder/written", b"inside")
    assert not (tmp_path / "written").exists()
    assert await sandbox.read_file(f"{tmp_path}/written") == b"inside"
    with pytest.raises(TransferError):
        await sandbox.download("/w/folder/host-file", tmp_path / "copy")


async def test_a_download_keeps_links_as_links_and_never_follows_them(sandbox: Sandbox, tmp_path: Path) -> None:
    await sandbox.exec(
        "mkdir -p /d/sub && ln -s /etc /d/etc && ln -s /etc/shadow /d/sub/s && ln -s /d /alias && echo x >/d/f"
    )
    await sandbox.download("/d", tmp_path / "d")
    assert tree(tmp_path / "d") == {"etc": "-> /etc", "f": "x\n", "sub": "/", "sub/s": "-> /etc/shadow"}
    await sandbox.download("/alias", tmp_path / "alias")
    assert (tmp_path / "alias").readlink() == Path("/d")
    # The second download meets the links of the first one on the host, and goes through none of them.
    await sandbox.exec("rm /d/etc && mkdir /d/etc && echo evil >/d/etc/planted")
    await sandbox.download("/d", tmp_path / "d")
    assert tree(tmp_path / "d")["etc/planted"] == "evil\n"


async def test_a_download_is_capped_and_takes_no_pipes(sandbox: Sandbox, tmp_path: Path) -> None:
    await sandbox.exec(
        "mkdir /big && for i in 1 2 3; do head -c 300000 /dev/zero >/big/$i; done; truncate -s 6M /sparse"
    )
    with pytest.raises(TransferError, match="more than 500000 bytes"):
        await sandbox.download("/big", tmp_path / "big", max_bytes=500_000)
    with pytest.raises(TransferError, match="more than"):
        await sandbox.download("/sparse", tmp_path / "sparse", max_bytes=1 << 20)
    assert not (tmp_path / "sparse").exists()
    await sandbox.exec("mkdir -p /p && mkfifo /p/pipe && echo x >/p/plain")
    await sandbox.download("/p", tmp_path / "p")
    assert tree(tmp_path / "p") == {"plain": "x\n"}
    for path in ("/p/pipe", "/dev/null"):
        with pytest.raises(TransferError, match="not a plain file"):
            await sandbox.download(path, tmp_path / "one")
    with pytest.raises(TransferError, match="nothing there"):
        await sandbox.download("/missing", tmp_path / "missing")


async def test_names_that_try_to_climb_are_only_names(sandbox: Sandbox, tmp_path: Path) -> None:
    script = "import os\nos.makedirs('/n')\nfor n in (b'..\\\\..\\\\x', b'\\xff\\xfe', b'a\\nb', b'...'): open(b'/n/' + n, 'w').close()"
    assert (await sandbox.exec(["python3", "-c", script])).ok
    await sandbox.download("/n", tmp_path / "n")
    names = {os.fsencode(path.name) for path in (tmp_path / "n").iterdir()}
    assert names == {b"..\\..\\x", b"\xff\xfe", b"a\nb", b"..."}
    for path in ("/etc/..", "/", "/tmp/.", ""):
        with pytest.raises(TransferError):
            await sandbox.write_file(path, b"")


async def test_reading_a_file(sandbox: Sandbox) -> None:
    await sandbox.exec(
        r"printf 'a\0\377' >/f; ln -s /f /link; mkfifo /pipe; head -c 2000 /dev/zero >/big; cp -r /etc /folder"
    )
    assert await sandbox.read_file("/f") == b"a\0\xff"
    with pytest.raises(FileNotFoundError):
        await sandbox.read_file("/no")
    with pytest.raises(IsADirectoryError):
        await sandbox.read_file("/folder")
    with pytest.raises(TransferError, match="more than 1000"):
        await sandbox.read_file("/big", max_bytes=1000)
    for path in ("/link", "/pipe", "/dev/null", "/dev/tty"):
        with pytest.raises(TransferError):
            await sandbox.read_file(path)


async def test_a_socket_is_no_file(sandbox: Sandbox, tmp_path: Path) -> None:
    script = "import socket; socket.socket(socket.AF_UNIX).bind('/s/sock')"
    assert (await sandbox.exec(["python3", "-c", script], cwd="/s")).ok
    with pytest.raises(TransferError):
        await sandbox.read_file("/s/sock")
    await sandbox.download("/s", tmp_path / "s")
    assert list((tmp_path / "s").iterdir()) == []
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "s/host"))
        with pytest.raises(TransferError):
            await sandbox.upload(tmp_path / "s", "/x")


async def test_writing_a_file(sandbox: Sandbox) -> None:
    await sandbox.write_file("/new/folders/f", b"\0binary\xff", mode=0o750)
    assert await sandbox.read_file("/new/folders/f") == b"\0binary\xff"
    assert (await sandbox.exec("stat -c '%a %u %g' /new/folders/f; ls -A /new/folders")).text == "750 0 0\nf\n"
    with pytest.raises(TransferError, match="folder"):
        await sandbox.write_file("/new/folders", b"")
    with pytest.raises(TransferError):
        await sandbox.write_file("/new/folders/f/below", b"")
    with pytest.raises(TransferError):
        await sandbox.write_file("/proc/sys/kernel/x", b"")


async def test_a_file_of_hundred_megabytes_goes_in(sandbox: Sandbox, tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as file:
        file.truncate(100 << 20)
    await sandbox.upload(tmp_path / "big", "/big")
    assert (await sandbox.exec("stat -c %s /big")).text == f"{100 << 20}\n"


async def test_remaking_a_folder_removes_whatever_is_there(sandbox: Sandbox) -> None:
    await sandbox.exec(
        "mkdir -p /keep /tests/a/b && echo x >/keep/f && touch /tests/a/b/c && chmod -R 0 /tests; ln -s /keep /logs"
    )
    await sandbox.remake_directory("/tests")
    await sandbox.remake_directory("/logs", mode=0o777)
    await sandbox.remake_directory("/new/one")
    result = await sandbox.exec("ls -A /tests /logs; cat /keep/f; stat -c '%F %a' /tests /logs /new/one")
    assert result.text == "/logs:\n\n/tests:\nx\ndirectory 755\ndirectory 777\ndirectory 755\n"


async def test_a_tree_that_is_deep_goes_in_and_out(sandbox: Sandbox, tmp_path: Path) -> None:
    script = "import os\nos.makedirs('/deep'); os.chdir('/deep')\nfor _ in range(300): os.mkdir('d' * 100); os.chdir('d' * 100)\n"
    assert (await sandbox.exec(["python3", "-c", script])).ok
    await sandbox.download("/deep", tmp_path / "deep")
    await sandbox.remake_directory("/deep")
    assert (await sandbox.exec("ls -A /deep")).text == ""
    depth, at = 0, tmp_path / "deep"
    folder = os.open(at, os.O_RDONLY)
    while names := os.listdir(folder):  # noqa: PTH208 - far longer than a path may be
        below = os.open(names[0], os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
        depth += 1
    os.close(folder)
    assert depth == 300
