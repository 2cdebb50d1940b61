"""Running the main job as a user does: real processes, real sandboxes, small inputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
SEEDS = ROOT / "examples" / "seeds" / "terminal"


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Job:
    """Runs `python -m evolution.generation` with a state folder of its own, so that nothing is shared between tests."""

    state: Path

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "ENVOLVE_STATE": str(self.state), "PYTHONPATH": str(ROOT)}

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "evolution.generation", "--plain", *map(str, arguments)]
        return subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, *arguments: str | Path, timeout: float = 900) -> Finished:
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=timeout)
        return Finished(process.returncode, out, err)

    def leftovers(self) -> list[str]:
        """Sandbox processes of this state folder that are still alive."""
        found = []
        for process in psutil.process_iter(["cmdline"]):
            command = " ".join(process.info["cmdline"] or ())
            if str(self.state) in command and process.status() != psutil.STATUS_ZOMBIE:
                found.append(command[:200])
        return found


def some_seeds(count: int) -> list[Path]:
    return sorted(path for path in SEEDS.iterdir() if path.is_dir())[:count]


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its run bit, to compare releases byte for byte."""
    return {
        f"{path.relative_to(folder)}{'*' if path.stat().st_mode & 0o100 else ''}": path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def manifests(run: Path) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted((run / "releases").glob("*/manifest.json"))]
