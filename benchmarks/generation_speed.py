"""How fast the main job goes, and what the driver itself costs: `python benchmarks/generation_speed.py [--workers 8]`.

Prints, from one run over the bundled seeds:

* environments per minute of wall time;
* the share of wall time in which no sandbox was at work (nothing but the driver and the model provider);
* the driver's CPU outside the model provider, as a share of wall time x cores (target: under 15 %), and the same with
  the sandbox launcher, a child process of the driver, added. What the launcher starts (the sandboxes, and the short
  processes that carry files into them) is shown beside it and not counted.

The embedded author is the model provider here: the CPU time of its answers is taken out, LiteLLM's and LangChain's
is not. On a machine that is busy otherwise the wall time grows, and the share shrinks: the seconds of CPU tell more.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from evolution.config import RunConfig
from evolution.generation import bundled_seeds
from graphs import console
from sandbox.sandboxes import Sandboxes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sandbox.protocol import Sandbox


class SandboxClock:
    """Wall seconds during which at least one sandbox was alive."""

    def __init__(self) -> None:
        self.alive = 0
        self.busy = 0.0
        self._since = 0.0

    def enter(self) -> None:
        if self.alive == 0:
            self._since = time.monotonic()
        self.alive += 1

    def leave(self) -> None:
        self.alive -= 1
        if self.alive == 0:
            self.busy += time.monotonic() - self._since


def measure_sandboxes(clock: SandboxClock) -> None:
    plain = Sandboxes.running

    @asynccontextmanager
    async def timed(self: Sandboxes, *args: Any, **kwargs: Any) -> AsyncIterator[Sandbox]:
        async with plain(self, *args, **kwargs) as sandbox:
            clock.enter()
            try:
                yield sandbox
            finally:
                clock.leave()

    Sandboxes.running = timed  # type: ignore[method-assign]


def measure_provider() -> list[float]:
    """Makes the embedded author's own CPU seconds add up in the one element of the list that is returned."""
    from agents.embedded import completion

    spent = [0.0]
    plain = completion.respond

    def timed(*args: Any, **kwargs: Any) -> Any:
        start = time.thread_time()
        try:
            return plain(*args, **kwargs)
        finally:
            spent[0] += time.thread_time() - start

    completion.respond = timed
    return spent


def is_launcher(child: psutil.Process) -> bool:
    """Whether a child of this process is a sandbox launcher, which hides its arguments as soon as it runs."""
    return child.name() == "envolve" or any("launcher.main" in part for part in child.cmdline())


def watch_launchers(stop: threading.Event, seconds: dict[int, tuple[float, float]]) -> None:
    """Samples the CPU time of the sandbox launchers by process id: their own, and that of what they started."""
    me = psutil.Process()
    while not stop.wait(0.5):
        for child in me.children():
            try:
                if is_launcher(child):
                    times = child.cpu_times()
                    seconds[child.pid] = times.user + times.system, times.children_user + times.children_system
            except psutil.Error:
                continue


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--generations", type=int, default=3)
    arguments = parser.parse_args()
    clock, launchers, stop = SandboxClock(), dict[int, tuple[float, float]](), threading.Event()
    measure_sandboxes(clock)
    provider = measure_provider()
    watcher = threading.Thread(target=watch_launchers, args=(stop, launchers), daemon=True)
    watcher.start()
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w", encoding="utf-8") as nowhere:
        config = RunConfig(
            seeds=(bundled_seeds(),),
            out=Path(folder) / "run",
            generations=arguments.generations,
            workers=arguments.workers,
        )
        cpu, wall = time.process_time(), time.monotonic()
        code = console.run(config, live=False, out=nowhere)
        wall, cpu = time.monotonic() - wall, time.process_time() - cpu
        released = len(list((Path(folder) / "run" / "releases").glob("*/tasks/*")))
    stop.set()
    watcher.join()
    cores = os.cpu_count() or 1
    launcher, started = (sum(times[which] for times in launchers.values()) for which in (0, 1))
    driver = cpu - provider[0]
    print(f"exit code {code}, {released} environments in {wall:.1f} s, {arguments.workers} workers on {cores} cores")
    print(f"environments per minute                       {released / wall * 60:.1f}")
    print(f"wall time outside sandboxes                   {1 - clock.busy / wall:.1%}")
    print(f"driver CPU outside the provider / wall x cores {driver / (wall * cores):.1%}   (target < 15 %)")
    print(f"the same with the sandbox launcher            {(driver + launcher) / (wall * cores):.1%}")
    print(
        f"  CPU: driver {driver:.1f} s, launcher {launcher:.1f} s, provider {provider[0]:.1f} s, "
        f"sandboxes {started:.1f} s"
    )
    return 0 if code == 0 and released else 1


if __name__ == "__main__":
    sys.exit(main())
