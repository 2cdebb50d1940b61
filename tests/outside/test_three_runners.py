"""Released tasks also hold outside the base they were made on: on a root folder made by debootstrap."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.main_job.running import ROOT, SEEDS, Job, manifests

DEBIAN = ROOT / ".outside" / "debian"
TASKS = 6
LATER = 2

pytestmark = [
    pytest.mark.outside,
    pytest.mark.skipif(not DEBIAN.is_dir(), reason="no Debian root in .outside/debian: ./run test --all makes it"),
]


def trial(task: Path, agent: str, job: Job) -> float:
    command = [sys.executable, "-m", "sandbox.trial", str(task), "--agent", agent, "--base", f"*={DEBIAN}", "--json"]
    done = subprocess.run(command, cwd=ROOT, env=job.environment, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)["score"]


def test_six_released_tasks_hold_on_a_debian_root(tmp_path: Path) -> None:
    job = Job(tmp_path / "state")
    run = tmp_path / "run"
    seeds = sorted(path for path in SEEDS.iterdir() if path.is_dir())[: TASKS - LATER]
    done = job.run("--seeds", *seeds, "--out", run, "--generations", "2")
    assert done.code == 0, done.err
    first, second = manifests(run)
    chosen = [("001", entry) for entry in first["tasks"]] + [("002", entry) for entry in second["tasks"][:LATER]]
    assert len(chosen) == TASKS
    for generation, entry in chosen:
        task = run / "releases" / f"generation-{generation}" / entry["path"]
        assert trial(task, "oracle", job) == 1, entry["id"]
        assert trial(task, "noop", job) == 0, entry["id"]
