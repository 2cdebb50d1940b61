"""Trials a second of a hello-world task: ours beside Harbor's over the same back end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from sandbox_parts.subjects import HARBOR, hello_world

AT_ONCE = 4
TARGET = 3.0
ROOT = Path(__file__).parents[2]


def measure(folder: Path, base: list[str], count: int) -> dict[str, object]:
    """Whole commands, start of Python included."""
    task = hello_world(folder)
    rules = [word for rule in base for word in ("--base", rule)]
    command = [sys.executable, "-m", "sandbox.trial", str(task), "--agent", "oracle", *rules, "--json"]
    ours = _seconds([*command, "--attempts", str(count), "--concurrency", str(AT_ONCE)])
    print(f"sandbox.trial: {count} trials, {AT_ONCE} at a time, in {ours:.1f} s: {count / ours:.1f} a second")
    found: dict[str, object] = {"count": count, "ours_per_second": round(count / ours, 2)}
    if not (HARBOR / "harbor").exists():
        print("left out: harbor run: no .venv-harbor (./run test --all sets it up)")
        return found
    options = [word for rule in base for word in ("--ek", f"base={rule}")]
    command = [str(HARBOR / "harbor"), "run", "-p", str(task), "-a", "oracle", "-q", *options]
    command += ["-e", "sandbox.harbor:BubblewrapEnvironment", "-o", str(folder / "jobs")]
    theirs = _seconds([*command, "-k", str(count), "-n", str(AT_ONCE)])
    ratio = theirs / ours
    print(f"harbor run: {count} trials, {AT_ONCE} at a time, in {theirs:.1f} s: {count / theirs:.1f} a second")
    print(f"trials a second, ours / Harbor's: {ratio:.2f}")
    missed = [f"{ratio:.2f} times as many trials a second as harbor run, not {TARGET:g}"] if ratio < TARGET else []
    return {**found, "harbor_per_second": round(count / theirs, 2), "ratio": round(ratio, 2), "missed": missed}


def _seconds(command: list[str]) -> float:
    begun = time.perf_counter()
    # Without it Harbor's LiteLLM waits for a price list from the web.
    environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(f"{command[0]} ended with {ran.returncode}: {ran.stderr[-2000:]}{ran.stdout[-2000:]}")
    return time.perf_counter() - begun
