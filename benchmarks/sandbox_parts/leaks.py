"""Thousands of starts: what is left of them."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import psutil

from sandbox.bubblewrap.backend import BubblewrapBackend
from sandbox_parts.subjects import Subjects

AT_ONCE = 8


def _counts(run: Path) -> dict[str, int]:
    """Processes below this one, its descriptors, mounts it sees, and entries of the folder of sandboxes."""
    return {
        "processes": len(psutil.Process().children(recursive=True)),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "mounts": len(Path("/proc/self/mountinfo").read_text().splitlines()),
        "folders": len(list(run.iterdir())),
        "control groups": sum(1 for _ in Path("/sys/fs/cgroup").rglob(f"*{run.name}*")),
    }


async def measure(subjects: Subjects, count: int) -> dict[str, object]:
    """Starts, uses and stops so many bubblewrap sandboxes and compares before and after."""
    backend, image = subjects.backends["bubblewrap"]
    assert isinstance(backend, BubblewrapBackend)
    run = await backend.run_folder()
    left = iter(range(count))

    async def worker() -> None:
        for _ in left:
            sandbox = await backend.start(image)
            await sandbox.exec(["true"])
            await sandbox.stop()

    await worker_once(backend, image)
    before = _counts(run)
    begun = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    seconds = time.perf_counter() - begun
    for _ in range(50):
        after = _counts(run)
        if all(after[name] <= before[name] for name in before):
            break
        await asyncio.sleep(0.2)
    grown = {name: after[name] - before[name] for name in before if after[name] > before[name]}
    print(f"{count} starts, {AT_ONCE} at a time, in {seconds:.0f} s; left behind: {grown or 'nothing'}")
    missed = [f"{count} starts left {grown}"] if grown else []
    return {"starts": count, "seconds": round(seconds, 1), "left": grown, "missed": missed}


async def worker_once(backend: BubblewrapBackend, image: object) -> None:
    """One episode, so that what is made on first use is in the counts before."""
    sandbox = await backend.start(image)  # type: ignore[arg-type]
    await sandbox.exec(["true"])
    await sandbox.stop()
    await asyncio.sleep(0.5)
