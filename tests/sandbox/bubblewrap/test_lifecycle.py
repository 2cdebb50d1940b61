"""What is left behind: by `close`, by a killed process, by a killed sandbox."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox.bubblewrap import cgroup, storage, userns
from sandbox.bubblewrap.backend import BubblewrapBackend
from sandbox.errors import SandboxLostError, SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task

RUNNER = """
import asyncio, sys
from pathlib import Path
from sandbox.bubblewrap.backend import BubblewrapBackend
from sandbox.task import Task
async def main():
    backend = BubblewrapBackend(state=Path(sys.argv[1]))
    image = await backend.build(Task.read(Path(sys.argv[2])))
    for _ in range(2):
        sandbox = await backend.start(image)
        await sandbox.exec("setsid sleep 3600.%s >/dev/null 2>&1 & echo x >/f; chmod 0 /tmp; sleep 0.1" % sys.argv[3])
    print("ready", flush=True)
    if sys.argv[4] == "wait":
        await sandbox.exec("sleep 3600.%s" % sys.argv[3])
asyncio.run(main())
"""


def running(mark: str) -> list[int]:
    """Processes whose command line has `mark`, the tests themselves left out."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdecimal() and f"3600.{mark}".encode() in (process / "cmdline").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def descriptors() -> int:
    """How many this process has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def gone(mark: str) -> bool:
    for _ in range(100):
        if not running(mark):
            return True
        await asyncio.sleep(0.05)
    return False


def start_runner(state: Path, task: Task, mark: str, ending: str) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", RUNNER, str(state), str(task.root), mark, ending]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.fixture
def small(sandboxes: Sandboxes, write_task: Callable[..., Task]) -> Task:
    return write_task({"Dockerfile": "FROM python:3.12-bookworm\n"})


async def test_a_killed_process_leaves_no_process_and_the_next_one_sweeps(small: Task, tmp_path: Path) -> None:
    state, mark = tmp_path / "state", str(time.time_ns())
    process = start_runner(state, small, mark, "wait")
    assert running(mark)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert await gone(mark)
    (left,) = (state / "run").iterdir()
    assert {path.name for path in left.iterdir()} >= {"owner.json"}
    backend = BubblewrapBackend(state=state)
    try:
        stale = await backend.stale()
        sandboxes = sorted(path.name for path in left.iterdir() if path.name.isdecimal())
        assert [(one.kind, one.name) for one in stale] == [("sandbox", f"{left.name}-{n}") for n in sandboxes]
        assert all(re.fullmatch(rf"process {process.pid} is gone, \d+ MB", one.note) for one in stale), stale
        assert left.exists()
        assert await backend.sweep() == 2
        assert await backend.stale() == ()
        assert not left.exists()
        assert await backend.sweep() == 0
        for hierarchy in cgroup.find_hierarchies("test"):
            assert not list(hierarchy.folder.glob(f"{cgroup.PREFIX}*{left.name}*"))
    finally:
        await backend.close()


async def test_a_process_that_forgets_to_close_leaves_no_process(small: Task, tmp_path: Path) -> None:
    mark = str(time.time_ns())
    process = start_runner(tmp_path / "state", small, mark, "leave")
    assert process.wait(60) == 0
    assert await gone(mark)


async def test_the_living_are_not_swept(small: Task, tmp_path: Path) -> None:
    one, two = BubblewrapBackend(state=tmp_path / "state"), BubblewrapBackend(state=tmp_path / "state")
    try:
        sandbox = await one.start(await one.build(small))
        await two.capabilities()
        assert await two.sweep() == 0
        assert (await sandbox.exec("echo alive")).text == "alive\n"
    finally:
        await asyncio.gather(one.close(), two.close())


async def test_an_orphan_of_a_dead_run_is_killed_by_the_sweep(small: Task, tmp_path: Path) -> None:
    """As when the launcher outlives its host: the run directory is declared dead while its sandbox runs."""
    one, two = BubblewrapBackend(state=tmp_path / "state"), BubblewrapBackend(state=tmp_path / "state")
    try:
        sandbox = await one.start(await one.build(small))
        (run,) = (tmp_path / "state/run").iterdir()
        (run / storage.OWNER_FILE).write_text('{"pid": 4194303, "start": "1@never"}')
        assert await two.sweep() == 1
        with pytest.raises(SandboxLostError, match="killed from outside"):
            await sandbox.exec("true")
        await sandbox.stop()
    finally:
        await asyncio.gather(one.close(), two.close())


async def test_close_leaves_nothing_and_may_be_called_twice(small: Task, tmp_path: Path) -> None:
    backend = BubblewrapBackend(state=tmp_path / "state")
    image = await backend.build(small)
    sandboxes = [await backend.start(image) for _ in range(3)]
    await sandboxes[0].exec("mkdir -p /a/b && touch /a/b/c && chmod 0 /a/b /a")
    await sandboxes[0].snapshot()
    launcher = backend._launcher._process.pid
    before = descriptors()
    await backend.close()
    await backend.close()
    assert list((tmp_path / "state/run").iterdir()) == []
    assert not storage.start_time(launcher)
    assert descriptors() < before
    sandbox = await backend.start(await backend.build(small))
    assert (await sandbox.exec("echo again")).text == "again\n"
    await backend.close()


async def test_descriptors_and_folders_do_not_pile_up(small: Task, tmp_path: Path) -> None:
    backend = BubblewrapBackend(state=tmp_path / "state")
    try:
        image = await backend.build(small)

        async def once() -> None:
            sandbox = await backend.start(image)
            await sandbox.exec("sleep 60 & cat", stdin=b"x" * 100_000)
            await sandbox.exec("no-such", user="0")
            await sandbox.stop()

        await once()
        await asyncio.sleep(0.5)
        before = descriptors()
        for _ in range(5):
            await once()
        await asyncio.sleep(0.5)
        assert descriptors() <= before + 1
        (run,) = (tmp_path / "state/run").iterdir()
        assert {path.name for path in run.iterdir()} <= {"owner.json", "spare"}
    finally:
        await backend.close()


async def test_a_killed_sandbox_is_lost_not_a_result(small: Task, tmp_path: Path) -> None:
    backend = BubblewrapBackend(state=tmp_path / "state")
    try:
        sandbox = await backend.start(await backend.build(small))
        pending = asyncio.create_task(sandbox.exec("sleep 60"))
        await asyncio.sleep(0.5)
        signal.pidfd_send_signal(sandbox.parts.init, signal.SIGKILL)
        with pytest.raises(SandboxLostError):
            await pending
        with pytest.raises(SandboxLostError):
            await sandbox.upload(Path(__file__), "/x")
        await sandbox.stop()
    finally:
        await backend.close()


async def test_a_killed_launcher_is_an_error_and_the_next_start_has_a_new_one(small: Task, tmp_path: Path) -> None:
    backend = BubblewrapBackend(state=tmp_path / "state")
    try:
        image = await backend.build(small)
        sandbox = await backend.start(image)
        backend._launcher._process.kill()
        await asyncio.sleep(0.5)
        with pytest.raises(SandboxLostError):
            await sandbox.exec("true")
        await sandbox.stop()
        again = await backend.start(image)
        assert (await again.exec("echo new")).text == "new\n"
    finally:
        await backend.close()


@pytest.mark.parametrize(
    ("file", "value", "says"),
    [
        ("/proc/sys/user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces="),
        ("/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
        ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "apparmor_restrict_unprivileged_userns=0"),
    ],
)
def test_a_setting_that_forbids_sandboxes_is_named(
    monkeypatch: pytest.MonkeyPatch, file: str, value: str, says: str
) -> None:
    """The setting is the machine's: that a file holds a value is the one thing made up here."""
    monkeypatch.setattr(userns, "_setting", {file: value}.get)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SandboxUnavailableError, match=says) as caught:
        userns.check_allowed()
    assert file in str(caught.value)
    assert "docker" in str(caught.value)
