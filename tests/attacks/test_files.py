"""Hostile files (field report 19): what an agent leaves for whoever fetches it, and archives that want out."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import tarfile
from pathlib import Path

import pytest

from sandbox.errors import TransferError
from tests.attacks.conftest import Target

LEAVE = r"""
mkdir -p /app/out/deep && cd /app/out
echo honest > file.txt
ln -s /etc/passwd absolute
ln -s ../../../../../../etc/passwd relative
ln -s . loop
ln -s deep/../../.. up
mkfifo pipe
mknod device c 1 3 2>/dev/null || true
mknod disk b 8 0 2>/dev/null || true
cp /bin/true setuid && chmod 6755 setuid
echo x > "$(printf 'bad-\xff-name')"
echo x > "$(printf 'line\nbreak')"
printf '#!/bin/sh\n' > run.sh && chmod 755 run.sh
chmod 000 deep
python3 - <<'END'
import socket
socket.socket(socket.AF_UNIX).bind("socket")
END
"""


async def test_what_is_fetched_harms_nobody(target: Target, tmp_path: Path) -> None:
    _, image = await target.victim("diff")
    sandbox = await target.backend.start(image)
    try:
        left = await sandbox.exec(LEAVE)
        assert left.ok, left
        fetched = tmp_path / "in" / "fetched"
        fetched.parent.mkdir()
        await sandbox.download("/app/out", fetched)
        assert (fetched / "file.txt").read_text() == "honest\n"
        assert [path.name for path in tmp_path.iterdir()] == ["in"]
        for folder, _, names in os.walk(fetched):
            for name in names:
                status = os.lstat(Path(folder, name))
                assert stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode), name
                assert status.st_uid == os.getuid()
                assert not status.st_mode & (stat.S_ISUID | stat.S_ISGID), name
    finally:
        await sandbox.stop()


@pytest.mark.parametrize("path", ["/app/out/absolute", "/app/out/pipe", "/app/out/loop", "/app/out/device"])
async def test_no_link_or_device_is_read(target: Target, path: str) -> None:
    _, image = await target.victim("diff")
    sandbox = await target.backend.start(image)
    try:
        await sandbox.exec(LEAVE)
        with pytest.raises((TransferError, FileNotFoundError)):
            await sandbox.read_file(path)
        assert (await sandbox.exec("true")).ok
    finally:
        await sandbox.stop()


def archive(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


HOSTILE = {
    "parent": archive((member("app/../../../../../escaped"), b"x")),
    "absolute": archive((member("/escaped"), b"x")),
    "through a link": archive((member("app/link", tarfile.SYMTYPE, "/"), b""), (member("app/link/escaped"), b"x")),
    "device": archive((member("app/device", tarfile.CHRTYPE), b"")),
}


@pytest.mark.parametrize("kind", HOSTILE)
async def test_no_archive_gets_out(target: Target, tmp_path: Path, kind: str) -> None:
    """Refused, or kept within the sandbox: nothing appears on this machine."""
    _, image = await target.victim("diff")
    sandbox = await target.backend.start(image)
    try:
        (tmp_path / "hostile.tar").write_bytes(HOSTILE[kind])
        with contextlib.suppress(TransferError):
            await sandbox.unpack(tmp_path / "hostile.tar")
        assert not Path("/escaped").exists()
        assert (await sandbox.exec("test ! -c /app/device")).ok
        assert (await sandbox.exec("echo works")).stdout == b"works\n"
    finally:
        await sandbox.stop()


async def test_an_upload_leads_nowhere_else(target: Target, tmp_path: Path) -> None:
    """A folder that the agent replaced by a link is replaced in turn, not written through."""
    _, image = await target.victim("diff")
    sandbox = await target.backend.start(image)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "passwd").write_text("forged")
    try:
        await sandbox.exec("rm -rf /tests && ln -s /etc /tests")
        await sandbox.upload(tmp_path / "tests", "/tests")
        assert (await sandbox.exec("cat /tests/passwd")).stdout == b"forged"
        assert (await sandbox.exec("cat /etc/passwd")).stdout != b"forged"
    finally:
        await sandbox.stop()
