"""A release made by the main job is reviewed: the conversations are there, and the next run knows the rubrics."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evolution.rubrics import read_rubrics
from tests.main_job.running import ROOT, Job, manifests, some_seeds

pytestmark = pytest.mark.slow
GATES = ("--gates", "build", "oracle", "noop", "--generations", "1")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("review")
    done = Job(folder / "state").run("--seeds", *some_seeds(2), "--out", folder / "run", *GATES)
    assert done.code == 0, done.err
    assert "valid at first attempt  2 of 2" in done.out
    assert "per valid environment" in done.out
    return folder / "run"


def test_what_was_released_is_reviewed_and_the_next_run_goes_by_it(run: Path, job: Job, tmp_path: Path) -> None:
    (released,) = manifests(run)
    kept = {task["id"]: sorted((run / "transcripts" / task["id"]).glob("*.jsonl")) for task in released["tasks"]}
    assert all(
        {"proposer", "critic", "evolver"} <= {file.stem.split("-")[1] for file in files} for files in kept.values()
    )
    command = [sys.executable, "-m", "evolution.review", str(run), "--rubrics", str(tmp_path / "mine.yaml")]
    typed = "c\na\nr\nTwo files have the same name.\nNo two files have the same name.\n"
    done = subprocess.run(command, input=typed, capture_output=True, text=True, cwd=ROOT, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "-evolver-1" in done.stdout
    assert "[ai] " in done.stdout
    assert "1 accepted, 1 rejected in all" in done.stdout
    (rubric,) = read_rubrics(tmp_path / "mine.yaml").rubrics
    assert rubric.task == released["tasks"][1]["id"]

    options = ("--seeds", *some_seeds(1), "--out", tmp_path / "next", "--rubrics", tmp_path / "mine.yaml", *GATES)
    assert job.run(*options).code == 0
    talks = sorted(tmp_path.glob("next/transcripts/*/*-critic-1.jsonl"))
    assert talks
    assert rubric.text in json.loads(talks[0].read_text().split("\n")[0])["content"]
