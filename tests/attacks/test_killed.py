"""A runner is killed with SIGKILL (field report 14): what it left is listed, swept, and nothing of it lives on."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys

import psutil

from tests.attacks.conftest import Target
from tests.attacks.scripts import FOLDER


def alive(mark: str) -> list[int]:
    """The processes on this machine that sleep for so many seconds."""
    return [process.pid for process in psutil.process_iter(["cmdline"]) if mark in (process.info["cmdline"] or [])]


async def test_a_killed_runner_leaves_nothing(target: Target) -> None:
    task, image = await target.victim("diff")
    mark = f"{random.SystemRandom().randint(10**6, 10**8)}"
    bystander = await target.backend.start(image)
    runner = subprocess.Popen(
        [sys.executable, FOLDER / "killed_runner.py", task.root, target.name, mark, *target.base],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    try:
        assert runner.stdout is not None
        assert await asyncio.to_thread(runner.stdout.readline) == b"ready\n"
        assert not await target.backend.stale(), "a living runner's sandboxes are nobody's to remove"
        runner.send_signal(signal.SIGKILL)
        runner.wait()
        left = [stale for stale in await target.backend.stale() if stale.kind == "sandbox"]
        assert len(left) == 3, left
        assert await target.backend.sweep() == 3
        for _ in range(50):
            if not alive(mark):
                break
            await asyncio.sleep(0.1)
        assert not alive(mark)
        assert not await target.backend.stale()
        assert (await bystander.exec("echo works")).stdout == b"works\n"
    finally:
        runner.kill()
        runner.wait()
        await bystander.stop()
