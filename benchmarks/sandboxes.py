"""Sandboxes side by side in one run: how fast, how small, how clean.

    python benchmarks/sandboxes.py [--base IMAGE=DIR] [--runs 40] [--alive 500] [--starts 10000] [--trials 40]
                                   [--json FILE]

* Start + exec + stop of bubblewrap, Docker and Harbor's Docker environment: p50 and p95 at 1, 8 and 32 at a time, and
  episodes a second; and of a bare `bwrap … true` with the same flags.
* Memory of an idle sandbox (proportional set size of every process that it brings).
* `--alive` sandboxes at once; `--starts` starts, and what is left of them: processes, mounts, descriptors, folders.
* Trials a second of `sandbox.trial` and of `harbor run` over the same back end.

What can't be had here (no engine, no Harbor, no `docker compose`) is said and left out. Ratios count, not milliseconds:
what is compared takes turns, so that a busy machine slows all alike.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from pathlib import Path

from sandbox_parts import episodes, leaks, memory, trials
from sandbox_parts.subjects import Subjects

DEBIAN = Path(__file__).parents[1] / ".outside" / "debian"


async def measure(options: argparse.Namespace, folder: Path) -> dict[str, object]:
    """Everything that was asked for, by name."""
    found: dict[str, object] = {}
    base = options.base or ([f"*={DEBIAN}"] if DEBIAN.is_dir() else ["*=host"])
    async with Subjects.opened(folder, base) as subjects:
        for reason in subjects.missing:
            print(f"left out: {reason}")
        found["episodes"] = await episodes.measure(subjects, options.runs)
        found["memory"] = await memory.per_idle_sandbox(subjects)
        if options.alive:
            found["alive"] = await memory.alive_at_once(subjects, options.alive)
        if options.starts:
            found["leaks"] = await leaks.measure(subjects, options.starts)
    if options.trials:
        found["trials"] = trials.measure(folder, base, options.trials)
    return found


def main() -> int:
    """Prints what was found; 1 when a target is missed."""
    parser = argparse.ArgumentParser(description="Sandboxes side by side.")
    parser.add_argument("--base", action="append", default=[], help="what a FROM line stands for")
    parser.add_argument("--runs", type=int, default=40, help="episodes of each kind at each concurrency")
    parser.add_argument("--alive", type=int, default=0, help="sandboxes alive at once")
    parser.add_argument("--starts", type=int, default=0, help="starts after which nothing may be left")
    parser.add_argument("--trials", type=int, default=0, help="trials of a hello-world task")
    parser.add_argument("--json", type=Path, default=None, help="write all figures there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="envolve-benchmark-") as folder:
        found = asyncio.run(measure(options, Path(folder)))
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")
    missed = [line for part in found.values() if isinstance(part, dict) for line in part.get("missed", [])]
    for line in missed:
        print(f"target missed: {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
