"""Twelve tasks on one base: the reference solution scores 1 and nothing scores 0, whoever runs them.

Six are released by the main job, of generation 2; the others are bundled seeds and tasks of another hand. The base is a
Debian root folder, other than the one they were made on. The runners are ours on bubblewrap, ours on Docker, and Harbor
itself with our sandbox as its environment.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.main_job.running import ROOT, Job, manifests, some_seeds

DEBIAN = ROOT / ".outside" / "debian"
HARBOR = ROOT / ".venv-harbor" / "bin" / "harbor"
FOREIGN = ROOT / "tests" / "data" / "foreign"
RELEASED = 6
OTHERS = 3
SCORES = {"oracle": 1, "nop": 0}

pytestmark = [
    pytest.mark.outside,
    pytest.mark.skipif(not DEBIAN.is_dir(), reason="no Debian root in .outside/debian: ./run test --all makes it"),
    # One worker makes the release for all of them.
    pytest.mark.xdist_group("three-runners"),
]


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the twelve tasks."""
    folder = tmp_path_factory.mktemp("three-runners")
    run, chosen = folder / "run", folder / "tasks"
    done = Job(folder / "state").run("--seeds", *some_seeds(RELEASED), "--out", run, "--generations", "2", timeout=600)
    assert done.code == 0, done.err
    chosen.mkdir()
    for entry in manifests(run)[1]["tasks"]:
        shutil.copytree(run / "releases" / "generation-002" / entry["path"], chosen / entry["id"])
    for task in [*some_seeds(OTHERS), *sorted(path for path in FOREIGN.iterdir() if path.is_dir())[:OTHERS]]:
        shutil.copytree(task, chosen / f"{task.parent.name}-{task.name}")
    assert len(list(chosen.iterdir())) == RELEASED + 2 * OTHERS
    return chosen


@pytest.mark.parametrize("agent", SCORES)
@pytest.mark.parametrize("sandbox", ["bubblewrap", "docker"])
def test_our_runner(tasks: Path, sandbox: str, agent: str) -> None:
    if sandbox == "docker":
        docker = pytest.importorskip("docker")
        try:
            docker.from_env(timeout=5).ping()
        except docker.errors.DockerException as error:
            pytest.skip(f"no Docker engine: {error}")
    paths = sorted(tasks.iterdir())
    command = [sys.executable, "-m", "sandbox.trial", *map(str, paths), "--agent", agent, "--sandbox", sandbox]
    done = subprocess.run(
        [*command, "--base", f"*={DEBIAN}", "--json"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [result["reward"] for result in results] == [SCORES[agent]] * len(paths), results
    assert {result["class"] for result in results} == {"scored"}


@pytest.mark.skipif(not HARBOR.exists(), reason="no Harbor in .venv-harbor: ./run test --all sets it up (Python 3.12)")
@pytest.mark.parametrize("agent", SCORES)
def test_harbor(tasks: Path, tmp_path: Path, agent: str) -> None:
    command = [str(HARBOR), "run", "-p", str(tasks), "-a", agent, "-n", "2", "-o", str(tmp_path), "-q"]
    done = subprocess.run(
        [*command, "-e", "sandbox.harbor:BubblewrapEnvironment", "--ek", f"base=*={DEBIAN}"],
        cwd=ROOT,
        env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    results = [json.loads(path.read_text()) for path in sorted(tmp_path.glob("*/*/result.json"))]
    assert len(results) == len(list(tasks.iterdir()))
    failed = {result["task_name"]: result["exception_info"] for result in results if result["exception_info"]}
    assert not failed
    assert {result["verifier_result"]["rewards"]["reward"] for result in results} == {SCORES[agent]}
