"""Start, run `true`, stop: one at a time and many at a time."""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from sandbox.bubblewrap.arguments import bwrap_arguments
from sandbox.bubblewrap.backend import BubblewrapBackend
from sandbox.bubblewrap.roots import Writable
from sandbox.protocol import Image, SandboxBackend
from sandbox_parts.subjects import HARBOR, Subjects, docker_environment

CONCURRENCY = (1, 8, 32)
WARM_UP = 3
REST = 0.05
"""Seconds between two episodes, so that the clean-up of one is not in the time of the next."""
TARGETS = {"docker": 20.0, "bare": 2.0}
Episode = Callable[[], Awaitable[None]]


async def measure(subjects: Subjects, runs: int) -> dict[str, object]:
    """Milliseconds and episodes a second of each, and their ratios."""
    kinds: dict[str, Episode] = {}
    for name, (backend, image) in subjects.backends.items():
        kinds[name] = _episode(backend, image)
    if "bubblewrap" in kinds:
        kinds["bare bwrap"] = await _bare(*subjects.backends["bubblewrap"])
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for concurrency in CONCURRENCY:
        taken = _in_turn(kinds, runs) if concurrency == 1 else _at_once(kinds, runs, concurrency)
        figures[str(concurrency)] = await taken
    reason = subjects.harbor_docker()
    if reason:
        print(f"left out: {reason}")
    else:
        for concurrency, taken in _harbor(subjects, runs).items():
            if isinstance(taken, str):
                print(f"left out: Harbor's Docker environment, {concurrency} at once: {taken}")
            else:
                figures[concurrency]["harbor docker"] = _figures(*taken)
    _show(figures)
    return {"figures": figures, **_judged(figures["1"])}


def _episode(backend: SandboxBackend, image: Image) -> Episode:
    async def run() -> None:
        sandbox = await backend.start(image)
        try:
            done = await sandbox.exec(["true"])
            assert done.ok, done
        finally:
            await sandbox.stop()

    return run


async def _bare(backend: SandboxBackend, image: Image) -> Episode:
    """The same command line (mounts, name spaces, capabilities) with `true` in the place of our first process."""
    assert isinstance(backend, BubblewrapBackend)
    ready = await backend._prepared()  # noqa: SLF001 - the same program and mounts for the bare run
    stored = ready.store.load(image.reference)
    assert stored is not None
    numbers = iter(range(1 << 30))

    async def run() -> None:
        writable = Writable(ready.run.path / f"bare-{next(numbers)}")
        writable.make(stored.root)
        arguments = bwrap_arguments(
            ready.bwrap, stored.root, writable, network="none", userns=False, first=["/bin/true"]
        )
        process = await asyncio.create_subprocess_exec(*arguments, stdin=asyncio.subprocess.DEVNULL)
        assert await process.wait() == 0

    return run


async def _in_turn(kinds: dict[str, Episode], runs: int) -> dict[str, dict[str, float]]:
    seconds: dict[str, list[float]] = {name: [] for name in kinds}
    for number in range(-WARM_UP, runs):
        for name, episode in kinds.items():
            begun = time.perf_counter()
            await episode()
            if number >= 0:
                seconds[name].append(time.perf_counter() - begun)
            await asyncio.sleep(REST)
    return {name: _figures(taken, sum(taken)) for name, taken in seconds.items()}


async def _at_once(kinds: dict[str, Episode], runs: int, concurrency: int) -> dict[str, dict[str, float]]:
    found = {}
    for name, episode in kinds.items():
        seconds: list[float] = []
        left = iter(range(max(runs, 2 * concurrency)))

        async def worker(episode: Episode = episode, left: object = left, seconds: list[float] = seconds) -> None:
            for _ in left:  # type: ignore[attr-defined]
                begun = time.perf_counter()
                await episode()
                seconds.append(time.perf_counter() - begun)

        begun = time.perf_counter()
        await asyncio.gather(*(worker() for _ in range(concurrency)))
        found[name] = _figures(seconds, time.perf_counter() - begun)
    return found


def _harbor(subjects: Subjects, runs: int) -> dict[str, tuple[list[float], float] | str]:
    """The same of Harbor's Docker environment, by a program of its own in Harbor's Python: seconds, or why not."""
    _, image = subjects.backends["docker"]
    driver = Path(__file__).with_name("harbor_docker.py")
    arguments = [str(HARBOR / "python"), str(driver), str(subjects.folder), image.reference, str(runs)]
    ran = subprocess.run(
        [*arguments, *map(str, CONCURRENCY)], env=docker_environment(), capture_output=True, text=True, check=False
    )
    if ran.returncode:
        print(f"left out: Harbor's Docker environment ended with {ran.returncode}: {ran.stderr[-500:]}")
        return {}
    found: dict[str, tuple[list[float], float] | str] = json.loads(ran.stdout.splitlines()[-1])
    return found


def _figures(seconds: list[float], wall: float) -> dict[str, float]:
    """p50 and p95 in milliseconds, episodes a second."""
    ordered = sorted(seconds)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    return {
        "p50": round(statistics.median(ordered) * 1000, 1),
        "p95": round(p95 * 1000, 1),
        "per_second": round(len(seconds) / wall, 2),
    }


def _judged(alone: dict[str, dict[str, float]]) -> dict[str, object]:
    ours = alone.get("bubblewrap")
    if ours is None:
        return {}
    missed, ratios = [], {}
    if "docker" in alone:
        ratios["docker / bubblewrap"] = round(alone["docker"]["p50"] / ours["p50"], 2)
        if ratios["docker / bubblewrap"] < TARGETS["docker"]:
            missed.append(f"Docker takes {ratios['docker / bubblewrap']} times as long as bubblewrap, not 20")
    ratios["bubblewrap / bare bwrap"] = round(ours["p50"] / alone["bare bwrap"]["p50"], 2)
    if ratios["bubblewrap / bare bwrap"] > TARGETS["bare"]:
        missed.append(f"bubblewrap takes {ratios['bubblewrap / bare bwrap']} times as long as bare bwrap, not 2")
    for name, ratio in ratios.items():
        print(f"{name}: {ratio}")
    return {"ratios": ratios, "missed": missed}


def _show(figures: dict[str, dict[str, dict[str, float]]]) -> None:
    print(f"{'at once':>7}  {'what':14} {'p50 ms':>9} {'p95 ms':>9} {'per second':>11}")
    for concurrency, kinds in figures.items():
        for name, of in kinds.items():
            print(f"{concurrency:>7}  {name:14} {of['p50']:9.1f} {of['p95']:9.1f} {of['per_second']:11.2f}")
