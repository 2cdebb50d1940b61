"""What a run releases: every environment passed every gate, and the bytes depend on seeds and seed number alone."""

from pathlib import Path

import pytest

from evolution.gates.registry import DEFAULT_GATES
from evolution.metadata import read_evolution
from sandbox.task import Task
from tests.main_job.running import Job, bytes_of, manifests, some_seeds


def test_two_seeds_one_generation(job: Job, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = job.run("--seeds", *some_seeds(2), "--out", run, "--generations", "1")
    assert done.code == 0, done.err
    (manifest,) = manifests(run)
    assert len(manifest["tasks"]) == 2
    for entry in manifest["tasks"]:
        assert {verdict["gate"] for verdict in entry["verdicts"]} == set(DEFAULT_GATES)
        assert all(verdict["passed"] and verdict["verdict_class"] == "accepted" for verdict in entry["verdicts"])
        assert entry["difficulty_after"] > entry["difficulty_before"]
        task = Task.read(run / "releases" / "generation-001" / entry["path"])
        assert task.content_hash == entry["content_hash"]
        stamped = read_evolution(task)
        assert stamped is not None
        assert (stamped.generation, stamped.lineage, stamped.parent) == (1, entry["lineage"], entry["parent"])
        assert [step.model_dump() for step in stamped.sequence.steps] == entry["sequence_after"]
    assert "environments accepted   2" in done.out
    assert "-m sandbox.trial" in done.out
    assert job.leftovers() == []


def test_nothing_released_says_why_and_exits_3(job: Job, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    Task.read(some_seeds(1)[0]).write(broken)
    (broken / "solution" / "solve.sh").write_text("#!/bin/bash\ntrue\n")
    done = job.run("--seeds", broken, "--out", tmp_path / "run", "--generations", "1")
    assert done.code == 3
    assert "Nothing was released" in done.out
    assert "oracle/" in done.out


@pytest.mark.slow
def test_one_seed_number_gives_one_release_and_another_gives_another(job: Job, tmp_path: Path) -> None:
    def release(name: str, *, number: int, workers: int) -> dict[str, bytes]:
        run = tmp_path / name
        settings = ("--seeds", *some_seeds(3), "--generations", "2", "--seed", str(number), "--workers", str(workers))
        done = job.run(*settings, "--out", run)
        assert done.code == 0, done.err
        return bytes_of(run / "releases")

    first = release("first", number=1, workers=1)
    assert release("again", number=1, workers=4) == first
    assert release("other", number=2, workers=4) != first


@pytest.mark.slow
def test_a_finished_run_is_extended_by_more_generations(job: Job, tmp_path: Path) -> None:
    settings = ("--seeds", *some_seeds(1), "--seed", "5")
    assert job.run(*settings, "--out", tmp_path / "steps", "--generations", "1").code == 0
    first = bytes_of(tmp_path / "steps" / "releases" / "generation-001")
    assert job.run(*settings, "--out", tmp_path / "steps", "--generations", "2").code == 0
    assert bytes_of(tmp_path / "steps" / "releases" / "generation-001") == first
    assert job.run(*settings, "--out", tmp_path / "whole", "--generations", "2").code == 0
    assert bytes_of(tmp_path / "steps" / "releases") == bytes_of(tmp_path / "whole" / "releases")
