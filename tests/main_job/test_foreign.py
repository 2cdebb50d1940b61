"""The main job on tasks that somebody else wrote: every one of them can be hardened along `length`."""

import shutil
from pathlib import Path

import pytest

from tests.main_job.running import ROOT, Job, manifests

FOREIGN = ROOT / "tests" / "data" / "foreign"


@pytest.mark.slow
def test_every_foreign_task_is_hardened_twice(job: Job, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = job.run("--seeds", FOREIGN, "--out", run, "--generations", "2", "--workers", "4")
    assert done.code == 0, done.err
    lineages = {path.name for path in FOREIGN.iterdir() if path.is_dir()}
    for manifest in manifests(run):
        assert {entry["lineage"] for entry in manifest["tasks"]} == lineages, done.out
        assert {entry["axis"] for entry in manifest["tasks"]} == {"length"}


def test_broken_seeds_are_named_and_the_others_go_on(job: Job, tmp_path: Path) -> None:
    seeds = tmp_path / "seeds"
    shutil.copytree(FOREIGN / "access-log-digest", seeds / "good")
    (seeds / "bad").mkdir()
    (seeds / "bad" / "task.toml").write_text("[task\n")
    run = tmp_path / "run"
    done = job.run("--seeds", seeds, "--out", run, "--generations", "1")
    assert done.code == 0, done.err
    assert len(manifests(run)[0]["tasks"]) == 1
    assert "seed not used" in done.out
    assert "task.toml" in done.out
