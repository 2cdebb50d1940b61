"""Verifiers that break (field reports 6 and 12): no reward, with the reason; never a 0 of the policy's."""

from __future__ import annotations

import shutil
from pathlib import Path

import psutil
import pytest

from sandbox.task import Task
from sandbox.verification.verify import verify
from tests.attacks.conftest import Target
from tests.attacks.scripts import Script, scripts

MOST_GROWTH = 128 << 20


def broken(script: Script, diff: Task, folder: Path) -> Task:
    """The victim with this verifier instead of its own."""
    root = folder / script.path.stem
    shutil.copytree(diff.root, root)
    shutil.copyfile(script.path, root / "tests" / "test.sh")
    with (root / "task.toml").open("a") as file:
        file.write(f"\n[verifier]\ntimeout_sec = {float(script.get('timeout', '60'))}\n")
    return Task.read(root)


@pytest.mark.parametrize("script", scripts("verifiers"), ids=str)
async def test_a_broken_verifier_gives_no_reward(target: Target, script: Script, tmp_path: Path) -> None:
    diff, image = await target.victim("diff")
    task = broken(script, diff, tmp_path)
    sandbox = await target.backend.start(image)
    try:
        await sandbox.exec("cp /app/question.txt /app/answer.txt")
        memory = psutil.Process().memory_info().rss
        verification = await verify(task, sandbox)
        assert psutil.Process().memory_info().rss - memory < MOST_GROWTH
        assert verification.error_code == script.get("code"), verification.error
        if script.get("reward"):
            assert verification.reward is not None
            assert verification.reward.score == float(script.get("reward"))
        else:
            assert verification.reward is None
            assert verification.error
        again = await sandbox.exec("echo works")
        assert again.stdout == b"works\n"
    finally:
        await sandbox.stop()
