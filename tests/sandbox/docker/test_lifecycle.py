"""Snapshots, and what is left behind: by `close`, by a killed process."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox.docker.backend import DockerBackend
from sandbox.docker.labels import is_dead, owner
from sandbox.errors import SandboxError, SandboxUnavailableError
from sandbox.siblings import fork, fresh
from sandbox.task import Task
from sandbox.trial.steps import run_noop, run_reference

if TYPE_CHECKING:
    from docker import DockerClient

    from sandbox.docker.sandbox import DockerSandbox
    from sandbox.protocol import Image

pytestmark = [pytest.mark.outside, pytest.mark.asyncio(loop_scope="session")]

ROOT = Path(__file__).parents[3]
RUNNER = """
import asyncio, sys
from sandbox.docker.backend import DockerBackend
from sandbox.protocol import Image
async def main():
    backend = DockerBackend()
    sandbox = await backend.start(Image(sys.argv[1]))
    await sandbox.snapshot()
    print(sandbox.parts.container, flush=True)
    if sys.argv[2] == "wait":
        await sandbox.exec("sleep 3600")
asyncio.run(main())
"""


def run(image: Image, ending: str) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNER, image.reference, ending], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def containers(engine: DockerClient) -> set[str]:
    return {str(row["Id"]) for row in engine.api.containers(all=True)}


async def test_a_fork_has_the_files_and_tells_all_that_differs_from_the_image(sandbox: DockerSandbox) -> None:
    await sandbox.exec("echo one >/srv/one; rm /srv/base; (sleep 60 &)")
    async with fork(sandbox) as copy:
        await copy.exec("rm /srv/one; echo two >/srv/two; echo again >/srv/base")
        found = {change.path: change.kind for change in await copy.changed_files(("/srv",))}
        assert found == {"/srv/base": "changed", "/srv/two": "added"}
        assert "sleep" not in (await copy.exec("cat /proc/[0-9]*/comm")).text.replace("sleep 3600", "")
        async with fork(copy) as second:
            assert (await second.exec("ls /srv")).text == "base\ntwo\n"
    assert (await sandbox.exec("ls /srv")).text == "one\n"
    async with fresh(sandbox) as clean:
        assert (await clean.exec("ls /srv")).text == "base\n"


async def test_a_snapshot_goes_when_nothing_stands_on_it(
    backend: DockerBackend, sandbox: DockerSandbox, engine: DockerClient
) -> None:
    snapshot = await sandbox.snapshot()
    copies = await asyncio.gather(*(backend.start(snapshot) for _ in range(3)))
    await backend.discard(snapshot)
    assert (await copies[0].exec("echo alive")).text == "alive\n"
    await asyncio.gather(*(copy.stop() for copy in copies))
    assert snapshot.reference not in {image.id for image in engine.images.list(all=True)}
    await backend.discard(snapshot)
    with pytest.raises(SandboxError, match="unknown here"):
        await backend.start(snapshot)


async def test_the_next_run_sweeps_what_a_killed_process_left(
    image: Image, sandbox: DockerSandbox, engine: DockerClient
) -> None:
    process, container = await asyncio.to_thread(run, image, "wait")
    other = DockerBackend()
    try:
        assert container in containers(engine)
        assert not any(left.name == sandbox.id for left in await other.stale())
        process.send_signal(signal.SIGKILL)
        process.wait()
        left = await other.stale()
        assert {"sandbox", "snapshot"} <= {stale.kind for stale in left}
        assert container in containers(engine)
        assert await other.sweep() >= 1
        assert container not in containers(engine)
        assert not await other.stale()
        assert (await sandbox.exec("echo alive")).text == "alive\n"
    finally:
        await other.close()


async def test_a_process_that_forgets_to_close_leaves_no_container(image: Image, engine: DockerClient) -> None:
    process, container = await asyncio.to_thread(run, image, "leave")
    assert await asyncio.to_thread(process.wait, 60) == 0
    assert container not in containers(engine)


async def test_close_leaves_nothing_and_may_be_called_twice(image: Image, engine: DockerClient) -> None:
    before = containers(engine)
    other = DockerBackend()
    made = await asyncio.gather(*(other.start(image) for _ in range(3)))
    await made[0].snapshot()
    await made[0].exec("rm -r /srv/base; mkdir /srv/x")
    await made[0].changed_files()
    await asyncio.gather(other.close(), other.close())
    mine = {row["Id"] for row in engine.api.containers(all=True, filters={"label": f"envolve.owner={owner()}"})}
    assert not (mine - before)
    again = await other.start(image)
    assert (await again.exec("echo again")).text == "again\n"
    await other.close()


async def test_images_not_used_for_long_are_listed(image: Image) -> None:
    other = DockerBackend()
    try:
        assert image.reference in {stale.name for stale in await other.stale(images_unused_for=-1)}
        await (await other.start(image)).stop()
        assert image.reference not in {stale.name for stale in await other.stale(images_unused_for=300)}
        assert not any(stale.kind == "image" and stale.name == image.reference for stale in await other.stale())
    finally:
        await other.close()


async def test_without_an_engine_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(SandboxUnavailableError, match="systemctl start docker"):
        await DockerBackend().capabilities()
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    with pytest.raises(SandboxUnavailableError, match="DOCKER_HOST"):
        await DockerBackend().capabilities()


async def test_an_owner_is_dead_when_its_process_is() -> None:
    boot_and_start = owner().partition("@")[2]
    boot, _, start = boot_and_start.rpartition(":")
    mine = {"envolve.owner": owner()}
    assert not is_dead(mine, running=True)
    assert is_dead({"envolve.owner": f"4194399@{boot}:{start}"}, running=True)
    assert is_dead({"envolve.owner": owner() + "1"}, running=True)  # the same number, another process
    assert not is_dead({"envolve.owner": f"1@other-boot:{start}"}, running=True)  # perhaps of another machine
    assert is_dead({"envolve.owner": f"1@other-boot:{start}"}, running=False)
    for foreign in ({}, {"envolve.owner": "nonsense"}):
        assert not is_dead(foreign, running=False)


async def test_a_seed_task_is_solved_by_its_reference_and_not_by_nothing(backend: DockerBackend) -> None:
    task = Task.read(ROOT / "examples/seeds/terminal/backup-audit")
    image = await backend.build(task)
    for work, wanted in ((run_reference, 1.0), (run_noop, 0.0)):
        sandbox = await backend.start(image)
        try:
            assert (await work(task, sandbox)).score == wanted
        finally:
            await sandbox.stop()
