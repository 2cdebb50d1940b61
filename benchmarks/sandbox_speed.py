"""How long a sandbox takes: start, run `true`, stop, beside a bare `bwrap … true` with the same flags.

    python benchmarks/sandbox_speed.py [--runs 60] [--json]

Both alternate, so that a busy machine slows both; the medians and their ratio are what counts. The bare one is the same
command line (mounts, name spaces, capabilities) with `/bin/true` in the place of our first process, started by
`asyncio.create_subprocess_exec` and waited for.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from sandbox.bubblewrap.arguments import bwrap_arguments
from sandbox.bubblewrap.backend import BubblewrapBackend
from sandbox.bubblewrap.roots import Writable

_TARGET = 2.0


async def measure(runs: int, state: Path) -> dict[str, float]:
    """Medians in milliseconds."""
    backend = BubblewrapBackend(state=state)
    seconds: dict[str, list[float]] = {"start": [], "exec": [], "stop": [], "sandbox": [], "bwrap": []}
    try:
        image = await backend.host_image()
        ready = await backend._prepared()  # noqa: SLF001 - the same program and mounts for the bare run
        stored = ready.store.load(image.reference)
        assert stored is not None
        for number in range(-3, runs):
            moments = [time.perf_counter()]
            sandbox = await backend.start(image)
            moments.append(time.perf_counter())
            await sandbox.exec(["true"])
            moments.append(time.perf_counter())
            await sandbox.stop()
            moments.append(time.perf_counter())
            await asyncio.sleep(0.05)
            writable = Writable(ready.run.path / f"bare-{number}")
            writable.make(stored.root)
            arguments = bwrap_arguments(
                ready.bwrap, stored.root, writable, network="none", userns=False, first=["/bin/true"]
            )
            begun = time.perf_counter()
            process = await asyncio.create_subprocess_exec(*arguments, stdin=asyncio.subprocess.DEVNULL)
            assert await process.wait() == 0
            bare = time.perf_counter() - begun
            await asyncio.sleep(0.05)
            if number >= 0:
                for name, before, after in zip(("start", "exec", "stop"), moments, moments[1:], strict=False):
                    seconds[name].append(after - before)
                seconds["sandbox"].append(moments[-1] - moments[0])
                seconds["bwrap"].append(bare)
    finally:
        await backend.close()
    return {name: round(statistics.median(values) * 1000, 2) for name, values in seconds.items()}


def main() -> int:
    """Prints the medians; 1 when the sandbox takes more than twice as long."""
    parser = argparse.ArgumentParser(description="Time of a sandbox beside that of a bare bwrap.")
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    state = Path(tempfile.mkdtemp(prefix="sandbox-speed-"))
    try:
        medians = asyncio.run(measure(options.runs, state))
    finally:
        shutil.rmtree(state, ignore_errors=True)
    ratio = medians["sandbox"] / medians["bwrap"]
    if options.json:
        print(json.dumps({"milliseconds": medians, "runs": options.runs, "ratio": round(ratio, 3)}))
    else:
        for name, value in medians.items():
            print(f"{name:8} {value:7.2f} ms")
        print(f"ratio    {ratio:7.2f}    (target: at most {_TARGET:g})")
    return 0 if ratio <= _TARGET else 1


if __name__ == "__main__":
    raise SystemExit(main())
