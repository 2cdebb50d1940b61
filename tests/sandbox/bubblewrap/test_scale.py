"""Many sandboxes at once and one after another: nothing is left of them, and each takes little memory."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox.bubblewrap import cgroup
from sandbox.bubblewrap.backend import BubblewrapBackend

if TYPE_CHECKING:
    from sandbox.protocol import Sandbox
    from sandbox.sandboxes import Sandboxes

ALIVE = 200
STARTS = 1000
AT_ONCE = 8
SANDBOX_KB = 4 << 10  # and 500 of them stay under 2 GB


def below(pid: int) -> dict[int, str]:
    """Processes below one, zombies too, with the first letter of their state."""
    parents: dict[int, tuple[int, str]] = {}
    for place in Path("/proc").iterdir():
        try:
            state, parent = (place / "stat").read_text().rpartition(")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if place.name.isdecimal():
            parents[int(place.name)] = (int(parent), state)
    found: dict[int, str] = {}
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        for child, (of, state) in parents.items():
            if of == parent:
                found[child] = state
                waiting.append(child)
    return found


def proportional_kb(pid: int) -> int:
    """A process's share of memory, in KiB: pages it shares with others count in part."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def held(backend: BubblewrapBackend, run: Path) -> dict[str, int]:
    """What the back end holds of this machine, counted."""
    launcher = backend._launcher._process.pid
    groups = [
        path for one in cgroup.find_hierarchies("scale") for path in one.folder.glob(f"{cgroup.PREFIX}*{run.name}-*")
    ]
    return {
        "processes": len(below(launcher)),
        "zombies": sum(state == "Z" for state in below(launcher).values()),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "descriptors of the launcher": len(list(Path(f"/proc/{launcher}/fd").iterdir())),
        "mounts": len(Path("/proc/self/mountinfo").read_text().splitlines()),
        "folders": len([path for path in run.iterdir() if path.name != "spare"]),
        "groups": len(groups),
        "tasks": len(asyncio.all_tasks()),
    }


async def settled(backend: BubblewrapBackend, run: Path, before: dict[str, int]) -> dict[str, int]:
    """What is held beyond `before` once the quiet has lasted long enough for what is done at leisure."""
    more: dict[str, int] = {}
    for _ in range(100):
        await backend._janitor.settled()
        await asyncio.sleep(0.1)
        now = held(backend, run)
        # A spare user name space may be there or not, and a few children wait or are just being made.
        slack = {"descriptors": 1, "processes": 2, "tasks": 1}
        more = {name: now[name] - before[name] for name in now if now[name] > before[name] + slack.get(name, 0)}
        if not more:
            break
    return more


@pytest.mark.slow
async def test_hundreds_alive_at_once_and_gone_without_a_trace(sandboxes: Sandboxes, tmp_path: Path) -> None:
    backend = BubblewrapBackend(state=tmp_path / "state")
    try:
        image = await backend.host_image()
        await (await backend.start(image)).stop()
        run = await backend.run_folder()
        await asyncio.sleep(0.5)
        before = held(backend, run)
        launcher = backend._launcher._process.pid
        used = sum(proportional_kb(pid) for pid in below(launcher))
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(number: int) -> Sandbox:
            async with gate:
                sandbox = await backend.start(image)
                assert (await sandbox.exec(f"echo {number} >/n; cat /n; sleep 600 >/dev/null 2>&1 &")).ok
                return sandbox

        alive = await asyncio.gather(*(one(number) for number in range(ALIVE)))
        assert [await sandbox.read_file("/n") for sandbox in alive] == [b"%d\n" % number for number in range(ALIVE)]
        more = sum(proportional_kb(pid) for pid in below(launcher)) - used
        assert more // ALIVE < SANDBOX_KB, f"{more // ALIVE} KiB for each sandbox"
        await asyncio.gather(*(sandbox.stop() for sandbox in alive))
        assert await settled(backend, run, before) == {}
    finally:
        await backend.close()
    assert list((tmp_path / "state/run").iterdir()) == []


@pytest.mark.slow
async def test_a_thousand_starts_leave_nothing(sandboxes: Sandboxes, tmp_path: Path) -> None:
    backend = BubblewrapBackend(state=tmp_path / "state")
    try:
        image = await backend.host_image()
        await (await backend.start(image)).stop()
        run = await backend.run_folder()
        await asyncio.sleep(0.5)
        before = held(backend, run)
        numbers = iter(range(STARTS))

        async def worker() -> None:
            for number in numbers:
                sandbox = await backend.start(image)
                try:
                    result = await sandbox.exec("mkdir -p /a/b; setsid sleep 600 >/dev/null 2>&1 & exit 3")
                    assert result.exit_code == 3
                    if number % 10 == 0:
                        frozen = await sandbox.snapshot()
                        fork = await backend.start(frozen)
                        await backend.discard(frozen)
                        assert (await fork.exec(["test", "-d", "/a/b"])).ok
                        await fork.stop()
                finally:
                    await sandbox.stop()

        await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
        assert await settled(backend, run, before) == {}
    finally:
        await backend.close()
    assert list((tmp_path / "state/run").iterdir()) == []
