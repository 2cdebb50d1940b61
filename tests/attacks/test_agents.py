"""Agents that cheat (field reports 1 to 5) and one that is late (7): real scripts, judged as `sandbox.verification` does.

Each script is also judged by a verifier that runs undefended, where it must win: an attack that never worked shows
nothing.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest

from sandbox.protocol import Limits, Sandbox
from sandbox.task import Task
from sandbox.trial.steps import run_reference
from sandbox.verification.verify import clear_verifier_folders, verify
from tests.attacks.conftest import Target
from tests.attacks.scripts import FOLDER, Script, scripts

AGENTS = scripts("agents")
PLACE = "/installed-agent"
LIMITS = Limits(memory_mb=1024, timeout=60)


@pytest.fixture(scope="session")
def preload(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """The library of `preload.c`, compiled; `None` where there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    made = tmp_path_factory.mktemp("preload") / "preload.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", made, FOLDER / "preload.c"], check=True)
    return made


async def act(script: Script, task: Task, sandbox: Sandbox, preload: Path | None) -> None:
    """The agent's turn: the script is uploaded and run as the agent."""
    if script.get("needs") == "preload.so":
        if preload is None:
            pytest.skip("no C compiler")
        await sandbox.upload(preload, f"{PLACE}/preload.so")
    await clear_verifier_folders(sandbox)  # as a trial leaves them for the agent
    await sandbox.upload(script.path, f"{PLACE}/agent.sh")
    await sandbox.exec(["bash", f"{PLACE}/agent.sh"], cwd="/app", timeout=float(script.get("timeout", "60")))


async def undefended(task: Task, sandbox: Sandbox, *, cleared: bool) -> bytes:
    """What a runner reads that uploads the tests over what is there and runs them beside whatever is alive."""
    if cleared:
        await sandbox.exec("rm -f /logs/verifier/reward.txt /logs/verifier/reward.json")
    await sandbox.exec("mkdir -p /tests /logs/verifier")
    for file in task.under("tests"):
        await sandbox.write_file(f"/{file.path}", task.read_bytes(file.path), mode=0o755)
    await asyncio.sleep(0.5)  # as long as it takes many a runner to come to the next step
    await sandbox.exec(["bash", "-c", "/tests/test.sh"], cwd="/app")
    read = await sandbox.exec("cat /logs/verifier/reward.json 2>/dev/null || cat /logs/verifier/reward.txt")
    return read.stdout


@pytest.mark.parametrize("script", AGENTS, ids=str)
async def test_no_reward_without_the_work(target: Target, script: Script, preload: Path | None) -> None:
    task, image = await target.victim(script.get("victim"))
    sandbox = await target.backend.start(image, limits=LIMITS)
    try:
        await act(script, task, sandbox, preload)
        verification = await verify(task, sandbox)
        got = "none" if verification.reward is None else f"{verification.reward.score:g}"
        assert got == script.get("expect", "0"), verification
        expected = {kind.strip() for kind in script.get("leftover").split(",")} - {"-"}
        found = {leftover.kind for leftover in verification.leftovers}
        assert not expected or expected & found, f"the verdict names {sorted(found)}"
    finally:
        await sandbox.stop()
    # And the next one, who does the work, gets the reward.
    honest = await target.backend.start(image, limits=LIMITS)
    try:
        result = await run_reference(task, honest)
        assert result.score == 1, result
        assert not result.steps[0].verification.leftovers
    finally:
        await honest.stop()


@pytest.mark.parametrize("script", [script for script in AGENTS if script.get("naive") != "-"], ids=str)
async def test_the_attack_works_on_an_undefended_verifier(target: Target, script: Script, preload: Path | None) -> None:
    task, image = await target.victim(script.get("victim"))
    for last in (False, False, False, True):  # some attacks run a race with the tests: winning it now and then will do
        sandbox = await target.backend.start(image, limits=LIMITS)
        try:
            await act(script, task, sandbox, preload)
            read = await undefended(task, sandbox, cleared=script.get("naive") != "uncleared")
        finally:
            await sandbox.stop()
        if read.strip() in {b"1", b'{"reward": 1}'}:
            return
        assert not last, read
