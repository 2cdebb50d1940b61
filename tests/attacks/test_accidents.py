"""Programs that run wild (field reports 15 to 20 and 22): contained, and the next command works."""

from __future__ import annotations

import asyncio
import dataclasses

import psutil
import pytest

from sandbox.errors import UnsupportedTaskError
from sandbox.protocol import ExecResult, Limits, Sandbox
from tests.attacks.conftest import Target
from tests.attacks.scripts import Script, scripts

MOST_GROWTH = 128 << 20
"""Bytes by which this process may grow while a command writes gigabytes."""


def limits_of(script: Script) -> Limits:
    limits = Limits(memory_mb=1024, processes=256)
    for setting in filter(None, script.get("limits").split(",")):
        name, _, value = setting.strip().partition("=")
        limits = dataclasses.replace(limits, **{name: int(value)})
    return limits


def judge(script: Script, result: ExecResult) -> None:
    match script.get("expect"):
        case "timed-out":
            assert result.timed_out, result
        case "failed":
            assert not result.timed_out, "its limit did not stop it, only its time did"
            assert result.exit_code != 0, result
        case "any":
            pass
        case code:
            assert not result.timed_out
            assert result.exit_code == int(code), result.stderr[-500:]
    assert result.truncated or not script.get("truncated")
    assert len(result.stdout) < (2 << 20)
    assert result.stdout.startswith(script.get("starts").encode())
    assert result.stdout.rstrip().endswith(script.get("ends").encode())
    if script.get("hex"):
        assert result.stdout == bytes.fromhex(script.get("hex"))


async def holds_still(sandbox: Sandbox, path: str) -> bool:
    before = await sandbox.read_file(path, max_bytes=64 << 20)
    await asyncio.sleep(0.5)
    return before == await sandbox.read_file(path, max_bytes=64 << 20)


@pytest.mark.parametrize("script", scripts("accidents"), ids=str)
async def test_it_is_contained(target: Target, script: Script) -> None:
    _, image = await target.victim("diff")
    try:
        sandbox = await target.backend.start(image, limits=limits_of(script))
    except UnsupportedTaskError as refused:
        names = [setting.partition("=")[0].strip() for setting in script.get("limits").split(",")]
        if not any(name in str(refused) for name in names):
            raise
        pytest.skip(f"refused by name: {refused}")
    try:
        await sandbox.upload(script.path, "/installed-agent/accident.sh")
        memory = psutil.Process().memory_info().rss
        result = await sandbox.exec(
            ["bash", "/installed-agent/accident.sh"], cwd="/app", timeout=float(script.get("timeout", "30"))
        )
        assert psutil.Process().memory_info().rss - memory < MOST_GROWTH
        judge(script, result)
        if script.get("still"):
            assert await holds_still(sandbox, script.get("still"))
        await sandbox.kill_processes()
        if script.get("cleanup"):
            assert (await sandbox.exec(script.get("cleanup"))).ok
        after = await sandbox.exec("echo works > /app/after && cat /app/after")
        assert after.stdout == b"works\n", after
    finally:
        await sandbox.stop()
