"""Disk fillers: killed within seconds, and the sandbox goes on."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from sandbox.bubblewrap.backend import BubblewrapBackend
from sandbox.protocol import Limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from sandbox.protocol import Capabilities, Image, Sandbox
    from sandbox.sandboxes import Sandboxes

MIB = 1 << 20
FILLERS = {
    "one big file": "head -c 3G /dev/zero >/fill/big; sleep 14",
    "many small files": "i=0; while :; do i=$((i+1)); head -c 200000 /dev/zero >/fill/$i; done",
    "a daemon": "setsid sh -c 'while :; do head -c 1000000 /dev/zero >>/fill/f; done' >/dev/null 2>&1 & sleep 14",
    "a deleted file": "exec 3>/fill/f; rm /fill/f; while :; do head -c 1000000 /dev/zero >&3; done",
}


@pytest_asyncio.fixture(loop_scope="session")
async def small(sandboxes: Sandboxes, image: Image) -> AsyncIterator[Sandbox]:
    """A sandbox that may write 24 MiB."""
    async with sandboxes.running(image, limits=Limits(storage_mb=24, file_size_mb=4096)) as running:
        yield running


@pytest.mark.parametrize("filler", FILLERS)
async def test_a_disk_filler_is_killed_and_the_next_command_works(small: Sandbox, filler: str) -> None:
    await small.exec("mkdir /fill")
    result = await small.exec(f"echo began; {FILLERS[filler]}", timeout=15)
    assert result.exit_code == 128 + 9
    assert not result.timed_out
    assert result.stdout == b"began\n"
    assert b"may write 24 (storage_mb)]" in result.error_text.splitlines()[-1].encode()
    tidied = await small.exec("ls /fill >/dev/null; sleep 1.5; rm -rf /fill; echo tidy")
    assert (tidied.text, tidied.exit_code) == ("tidy\n", 0)
    again = await small.exec("mkdir /fill; head -c 9000000 /dev/zero >/fill/ok; sleep 1.5; echo fits")
    assert again.text == "fits\n"


async def test_writing_on_beyond_the_limit_is_killed_again(small: Sandbox) -> None:
    await small.exec("head -c 40000000 /dev/zero >/a; sleep 14", timeout=15)
    result = await small.exec("head -c 40000000 /dev/zero >/b; sleep 14", timeout=15)
    assert result.exit_code == 128 + 9
    assert "storage_mb" in result.error_text


async def test_without_a_limit_nobody_is_killed(sandbox: Sandbox, capabilities: Capabilities) -> None:
    assert "storage_mb" in capabilities.limits
    result = await sandbox.exec("for i in 1 2 3 4 5 6; do head -c 7000000 /dev/zero >/$i; done; sleep 1.5; echo whole")
    assert result.text == "whole\n"


@pytest.fixture
def state() -> Iterator[Path]:
    """A state directory on a file system that nobody else fills meanwhile, where there is one."""
    shared = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="storage-", dir=shared if shared.is_dir() else None))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


async def test_the_largest_writer_is_killed_before_the_disk_is_full(sandboxes: Sandboxes, state: Path) -> None:
    status = os.statvfs(state)
    free = status.f_bavail * status.f_frsize // MIB
    backend = BubblewrapBackend(state=state, disk_floor_mb=free - 96)
    try:
        image = await backend.host_image()
        modest, greedy = [await backend.start(image, limits=Limits(memory_mb=None)) for _ in range(2)]
        works = asyncio.create_task(
            modest.exec("head -c 1000000 /dev/zero >/f; while [ ! -e /go ]; do sleep 0.1; done")
        )
        result = await greedy.exec("head -c 200000000 /dev/zero >/f; sleep 14", timeout=15)
        assert result.exit_code == 128 + 9
        assert "it has written the most" in result.error_text
        assert (await greedy.exec("rm /f; echo on")).text == "on\n"
        await modest.write_file("/go", b"")
        assert (await works).ok
    finally:
        await backend.close()
