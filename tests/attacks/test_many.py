"""Many sandboxes (field reports 21 and 24): networks and stopped machines don't pile up; a busy start is no failure."""

from __future__ import annotations

import asyncio

import pytest

from sandbox.protocol import Limits, Network, NetworkMode
from tests.attacks.conftest import Target


@pytest.mark.parametrize("mode", ["none", "public"])
async def test_forty_in_a_row_leave_nothing(target: Target, mode: NetworkMode) -> None:
    if mode not in (await target.backend.capabilities()).networks:
        pytest.skip(f"no {mode} network on {target.name}")
    _, image = await target.victim("diff")
    before = await target.backend.stale()
    for _ in range(10):
        started = await asyncio.gather(
            *(target.backend.start(image, limits=Limits(memory_mb=256), network=Network(mode)) for _ in range(4))
        )
        results = await asyncio.gather(*(sandbox.exec("echo works") for sandbox in started))
        await asyncio.gather(*(sandbox.stop() for sandbox in started))
        assert [result.stdout for result in results] == [b"works\n"] * 4
    assert await target.backend.stale() == before


async def test_a_busy_machine_is_no_failure(target: Target) -> None:
    _, image = await target.victim("diff")
    busy = [await target.backend.start(image) for _ in range(4)]
    spinning = [asyncio.create_task(sandbox.exec("while :; do :; done", timeout=30)) for sandbox in busy]
    try:
        started = await asyncio.gather(*(target.backend.start(image) for _ in range(8)))
        results = await asyncio.gather(*(sandbox.exec("echo works") for sandbox in started))
        assert [result.stdout for result in results] == [b"works\n"] * 8
        await asyncio.gather(*(sandbox.stop() for sandbox in started))
    finally:
        for task in spinning:
            task.cancel()
        await asyncio.gather(*spinning, return_exceptions=True)
        await asyncio.gather(*(sandbox.stop() for sandbox in busy))
