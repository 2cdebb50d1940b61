"""What validating costs beside the tasks' own tests, and whether a killed validation goes on where it was.

    python benchmarks/validation_cost.py                      6 tasks of the embedded author's library
    python benchmarks/validation_cost.py --tasks 200          many

One command validates all of them with 8 workers. Printed: wall-clock seconds, seconds in which tasks' own `test.sh` ran
(summed; they run side by side), what is left for each task, and the same as ratios. Then the command is killed in the
middle, by SIGKILL, and given again: no task that was through is judged again, nothing of a sandbox is left over, and
every verdict is the same as without the kill (--no-kill leaves this out).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.gate_parts.corpus import rendered
from evolution.validation.command import JOURNAL
from sandbox.backends import load_backend

ROOT = Path(__file__).resolve().parents[1]
GATES = ("rubric", "build", "oracle", "noop")


@dataclass(frozen=True)
class Ran:
    """One run of the command, to its end."""

    seconds: float
    lines: list[dict[str, Any]]

    @property
    def verifiers(self) -> float:
        return float(sum(line["verifier_seconds"] for line in self.lines))

    @property
    def verdicts(self) -> list[tuple[str, str, dict[str, str]]]:
        return [
            (line["task"], line["class"], {name: gate["code"] for name, gate in line["gates"].items()})
            for line in self.lines
        ]


def command(tasks: Path, out: Path, arguments: argparse.Namespace) -> list[str]:
    options = ["--gates", *arguments.gates, "--workers", str(arguments.workers), "--plain", "--json", "--out", str(out)]
    return [sys.executable, "-m", "evolution.validate", str(tasks), *options]


def validated(words: list[str], environment: dict[str, str]) -> Ran:
    began = time.monotonic()
    ran = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode not in {0, 1, 3}:
        sys.exit(f"{' '.join(words)}\nended with status {ran.returncode}\n{ran.stderr}")
    return Ran(time.monotonic() - began, [json.loads(line) for line in ran.stdout.splitlines()])


def killed(words: list[str], environment: dict[str, str], after: int) -> list[str]:
    """Names of the tasks that were through when the command was killed."""
    through: list[str] = []
    with subprocess.Popen(
        words, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("["):
                through.append(line.split("] ", 1)[1].rsplit(": ", 1)[0])
            if len(through) == after:
                process.send_signal(signal.SIGKILL)
                break
    return through


def kept(out: Path) -> dict[str, float]:
    """When each result was kept, by its key."""
    import sqlite3

    with sqlite3.connect(f"file:{out / JOURNAL}?mode=ro", uri=True) as journal:
        return dict(journal.execute("SELECT key, finished_at FROM entry"))


async def left_over() -> int:
    backend = load_backend(base=("*=host",))
    try:
        return len(await backend.stale())
    finally:
        await backend.close()


def check_kill(tasks: Path, work: Path, arguments: argparse.Namespace, environment: dict[str, str], whole: Ran) -> bool:
    out = work / "killed"
    words = command(tasks, out, arguments)
    through = killed(words, environment, max(1, len(whole.lines) // 2))
    before = kept(out)
    again = validated(words, environment)
    after = kept(out)
    anew = [key for key, when in before.items() if after.get(key) != when]
    left = asyncio.run(left_over())
    print(f"killed when {len(through)} of {len(whole.lines)} tasks were through; {len(before)} were kept")
    print(
        f"given again: {again.seconds:.1f} s, {again.seconds / whole.seconds:.2f} of the whole; {len(anew)} kept anew"
    )
    same = again.verdicts == whole.verdicts
    print(f"verdicts are {'the same' if same else 'NOT THE SAME'}; left over of sandboxes: {left}")
    return same and not anew and not left and len(before) >= len(through)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=6, help="tasks of the library (default: 6)")
    parser.add_argument("--workers", type=int, default=8, help="tasks at once (default: 8)")
    parser.add_argument("--gates", nargs="+", default=GATES)
    parser.add_argument("--kill", action=argparse.BooleanOptionalAction, default=True, help="kill and go on, too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="envolve-cost-") as folder:
        work = Path(folder)
        os.environ["ENVOLVE_STATE"] = str(work / "state")
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        tasks = work / "tasks"
        tasks.mkdir()
        rendered(tasks, arguments.tasks)
        validated(command(next(tasks.iterdir()), work / "warm", arguments), environment)  # unpacks the base image
        whole = validated(command(tasks, work / "whole", arguments), environment)
        count, beside = len(whole.lines), whole.seconds - whole.verifiers
        classes = ", ".join(
            f"{sum(c == k for _, c, _ in whole.verdicts)} {k}" for k in sorted({c for _, c, _ in whole.verdicts})
        )
        print(f"{count} tasks ({classes}), {arguments.workers} workers, gates {' '.join(arguments.gates)}")
        print(f"wall {whole.seconds:.1f} s, verifiers {whole.verifiers:.1f} s (summed), difference {beside:.1f} s")
        print(f"for each task: wall {whole.seconds / count:.2f} s, beside its verifiers {beside / count:.2f} s")
        print(f"wall / verifiers {whole.seconds / max(whole.verifiers, 1e-9):.2f}")
        sound = not arguments.kill or check_kill(tasks, work, arguments, environment, whole)
        shutil.rmtree(work / "state", ignore_errors=True)
    sys.exit(0 if sound else 1)


if __name__ == "__main__":
    main()
