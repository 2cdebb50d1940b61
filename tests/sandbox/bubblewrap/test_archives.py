"""Archives out of one sandbox and into another, with owners, modes, times and links as they were."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING

import pytest

from sandbox.errors import TransferError

if TYPE_CHECKING:
    from pathlib import Path

    from sandbox.protocol import Capabilities, Image, Sandbox
    from sandbox.sandboxes import Sandboxes

MAKE = """
mkdir -p /w/sub/empty && echo plain >/w/f && echo run >/w/sub/run && chmod 4755 /w/sub/run && chmod 1777 /w/sub/empty
ln -s ../f /w/sub/link && ln -s /etc/shadow /w/out && ln /w/f /w/hard && mkfifo /w/pipe && printf 'é' >"/w/ü $(printf 'a\\nb')"
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("/w/sock")'
touch -d @1000000000 /w/f /w/sub/run && touch -h -d @900000000 /w/sub/link && touch -d @800000000 /w/sub
"""
LOOK = "cd /w; find . -exec stat -c '%n %a %u:%g %F %Y' {} + | grep -v '^[.] ' | sort; cat f sub/run hard; readlink out"


async def test_a_tree_comes_out_and_goes_in_the_same(
    sandboxes: Sandboxes, image: Image, sandbox: Sandbox, tmp_path: Path, capabilities: Capabilities
) -> None:
    await sandbox.exec(MAKE)
    if capabilities.users:
        await sandbox.exec("chown 33:1234 /w/f; chown -h 33 /w/sub/link")
    await sandbox.pack(["/w", "/not/there", "/etc/hostname/not"], tmp_path / "a" / "w.tar")
    with tarfile.open(tmp_path / "a" / "w.tar", "r:") as archive:
        names = archive.getnames()
    assert names == sorted(names)
    assert "w/sub/link" in names
    assert not {"w/pipe", "w/sock"} & set(names)
    await sandbox.exec("rm /w/pipe /w/sock")
    before = (await sandbox.exec(LOOK)).text
    async with sandboxes.running(image) as other:
        await other.unpack(tmp_path / "a" / "w.tar")
        assert (await other.exec(LOOK)).text == before
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["w.tar"]


async def test_the_same_files_give_the_same_bytes(sandbox: Sandbox, tmp_path: Path) -> None:
    await sandbox.exec(MAKE)
    await sandbox.pack(["/w/sub", "/w/f"], tmp_path / "one")
    await sandbox.pack(["/w/f", "/w/sub/"], tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


async def test_unpacking_replaces_files_and_keeps_what_else_is_there(sandbox: Sandbox, tmp_path: Path) -> None:
    await sandbox.exec("mkdir -p /d/s && echo new >/d/s/f && ln -s f /d/s/l")
    await sandbox.pack(["/d"], tmp_path / "d.tar")
    await sandbox.exec("rm /d/s/l; echo old >/d/s/f; mkdir /d/s/l; touch /d/s/l/x /d/s/kept; echo precious >/outside")
    await sandbox.exec("rm /d/s/f; ln -s /outside /d/s/f")
    await sandbox.unpack(tmp_path / "d.tar")
    result = await sandbox.exec("cat /d/s/f /outside; readlink /d/s/l; ls /d/s; [ -L /d/s/f ] && echo link")
    assert result.text == "new\nprecious\nf\nf\nkept\nl\n"


async def test_links_in_the_sandbox_end_in_it(sandbox: Sandbox, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "evil.tar", "w") as archive:
        link = tarfile.TarInfo("up")
        link.type, link.linkname = tarfile.SYMTYPE, "../../../.." + str(tmp_path)
        archive.addfile(link)
        below = tarfile.TarInfo("up/planted")
        below.size = 4
        archive.addfile(below, io.BytesIO(b"evil"))
    with pytest.raises(TransferError):
        await sandbox.unpack(tmp_path / "evil.tar")
    await sandbox.exec(["mkdir", "-p", str(tmp_path)])
    await sandbox.unpack(tmp_path / "evil.tar")
    assert await sandbox.read_file(f"{tmp_path}/planted") == b"evil"
    assert not (tmp_path / "planted").exists()


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/a/../x"])
async def test_an_entry_that_climbs_is_refused(sandbox: Sandbox, tmp_path: Path, name: str) -> None:
    with tarfile.open(tmp_path / "evil.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo(name))
    with pytest.raises(TransferError, match="leave the root"):
        await sandbox.unpack(tmp_path / "evil.tar")


async def test_what_is_no_archive_says_so(sandbox: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(TransferError, match="No such file"):
        await sandbox.unpack(tmp_path / "none.tar")
    (tmp_path / "text").write_text("no archive at all" * 100)
    with pytest.raises(TransferError, match="broken"):
        await sandbox.unpack(tmp_path / "text")


async def test_an_archive_is_capped(sandbox: Sandbox, tmp_path: Path) -> None:
    await sandbox.exec("mkdir /big; head -c 300000 /dev/zero >/big/a; truncate -s 7M /big/b")
    with pytest.raises(TransferError, match="more than 1000000 bytes"):
        await sandbox.pack(["/big"], tmp_path / "big.tar", max_bytes=1_000_000)
    assert list(tmp_path.glob("*big*")) == []


async def test_a_device_and_a_pipe_in_an_archive_are_left_out(sandbox: Sandbox, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "d.tar", "w") as archive:
        for name, kind in (("pipe", tarfile.FIFOTYPE), ("disk", tarfile.BLKTYPE), ("mem", tarfile.CHRTYPE)):
            info = tarfile.TarInfo(f"dev2/{name}")
            info.type, info.devmajor, info.devminor = kind, 1, 1
            archive.addfile(info)
        archive.addfile(tarfile.TarInfo("dev2/file"))
    await sandbox.unpack(tmp_path / "d.tar")
    assert (await sandbox.exec("ls /dev2")).text == "file\n"


async def test_ids_the_sandbox_does_not_have_become_root(sandbox: Sandbox, tmp_path: Path) -> None:
    info = tarfile.TarInfo("theirs")
    info.uid, info.gid, info.mode = 3_000_000, 3_000_000, 0o640
    with tarfile.open(tmp_path / "x.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info)
    await sandbox.unpack(tmp_path / "x.tar")
    assert (await sandbox.exec("stat -c '%u:%g %a' /theirs")).text == "0:0 640\n"


async def test_removing_a_path(sandbox: Sandbox) -> None:
    await sandbox.exec("mkdir -p /keep /t/a/b && touch /keep/f /t/a/b/c && chmod 0 /t/a; ln -s /keep /link")
    for path in ("/t", "/link", "/not/there", "/etc/hostname/below"):
        await sandbox.remove(path)
    assert (await sandbox.exec("ls -d /t /link 2>/dev/null; ls /keep; ls -d /not")).text == "f\n"
    for path in ("/", "relative", "/etc/.."):
        with pytest.raises(TransferError):
            await sandbox.remove(path)
