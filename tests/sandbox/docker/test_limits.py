"""Hogs of every kind are contained, and the next command works."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from sandbox.errors import UnsupportedTaskError
from sandbox.protocol import Limits

if TYPE_CHECKING:
    from docker import DockerClient

    from sandbox.docker.backend import DockerBackend
    from sandbox.docker.sandbox import DockerSandbox
    from sandbox.protocol import Image

pytestmark = [pytest.mark.outside, pytest.mark.asyncio(loop_scope="session")]


async def test_a_memory_hog_is_killed_and_the_next_command_works(sandbox: DockerSandbox) -> None:
    result = await sandbox.exec(["python3", "-c", "x = bytearray(1 << 30)"])
    assert result.exit_code == 137
    assert (await sandbox.exec("echo next")).text == "next\n"


async def test_a_fork_bomb_is_contained_and_killed(sandbox: DockerSandbox) -> None:
    result = await sandbox.exec("bomb() { bomb | bomb & }; bomb; sleep 60", timeout=3)
    assert result.timed_out or result.exit_code
    await sandbox.kill_processes()
    assert (await sandbox.exec("echo next")).text == "next\n"
    assert await sandbox.kill_processes() == 0


async def test_a_file_has_a_largest_size_and_open_files_a_number(sandbox: DockerSandbox) -> None:
    result = await sandbox.exec("head -c 20000000 /dev/zero >/large; stat -c %s /large; ulimit -n")
    assert result.text == f"{8 << 20}\n{sandbox.limits.open_files}\n"


async def test_what_all_files_take_is_bounded_and_a_command_can_clean_up(backend: DockerBackend, image: Image) -> None:
    made = await backend.start(image, limits=Limits(storage_mb=30, file_size_mb=20))
    try:
        result = await made.exec("for i in $(seq 1000); do head -c 10000000 /dev/zero >/f$i; sleep 0.2; done")
        assert result.exit_code == 137
        assert "30 MiB (storage_mb)" in result.error_text
        cleaned = await made.exec("sleep 2; rm /f*; sleep 2; echo cleaned")
        assert cleaned.text == "cleaned\n"
    finally:
        await made.stop()


async def test_limits_reach_the_engine(backend: DockerBackend, image: Image, engine: DockerClient) -> None:
    made = await backend.start(image, limits=Limits(memory_mb=100, processes=33, cpus=0.5))
    try:
        config = engine.api.inspect_container(made.parts.container)["HostConfig"]
        assert config["Memory"] == config["MemorySwap"] == 100 << 20
        assert (config["PidsLimit"], config["NanoCpus"]) == (33, 500_000_000)
        assert config["Privileged"] is False
        assert not config["Binds"]
    finally:
        await made.stop()
    assert {"memory_mb", "processes", "cpus", "storage_mb", "file_size_mb"} <= (await backend.capabilities()).limits


async def test_a_limit_that_cannot_be_had_is_named(backend: DockerBackend, image: Image) -> None:
    with pytest.raises(UnsupportedTaskError, match="memory_mb = 1"):
        await backend.start(image, limits=Limits(memory_mb=1))


async def test_orphans_do_not_pile_up(sandbox: DockerSandbox) -> None:
    for _ in range(3):
        await sandbox.exec("for i in $(seq 30); do (sleep 0 &) ; done")
    await asyncio.sleep(0.5)
    states = (await sandbox.exec("cut -d' ' -f3 /proc/[0-9]*/stat")).text.split()
    assert "Z" not in states
