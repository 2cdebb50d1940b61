"""A run that is killed, interrupted, or started twice."""

import json
import random
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from tests.main_job.running import Job, bytes_of, some_seeds
from tests.main_job.served_author import ServedAuthor

KILLS = 20
WORKERS = 2


@pytest.mark.slow
def test_killed_at_twenty_random_moments_it_ends_with_the_same_release(job: Job, tmp_path: Path) -> None:
    settings = ("--seeds", *some_seeds(2), "--generations", "2", "--workers", str(WORKERS), "--seed", "11")
    with ServedAuthor(tmp_path / "author-undisturbed") as author:
        undisturbed = job.run(*settings, *author.flags, "--out", tmp_path / "undisturbed")
        assert undisturbed.code == 0, undisturbed.err
        calls, entries = author.requests, _entries(tmp_path / "undisturbed" / "run.db")

    moments = random.Random(1)
    with ServedAuthor(tmp_path / "author-killed") as author:
        for kill in range(KILLS):
            process = job.start(*settings, *author.flags, "--out", tmp_path / "killed")
            # Spread over the whole run by what is finished; random within a step, and before the first one.
            _wait_for_entries(tmp_path / "killed" / "run.db", entries * kill // (KILLS + 1), process)
            time.sleep(moments.uniform(0, 1.5))
            process.kill()
            process.communicate()
        last = job.run(*settings, *author.flags, "--out", tmp_path / "killed")
        assert last.code == 0, last.err
        assert author.requests <= calls + KILLS * WORKERS

    assert bytes_of(tmp_path / "killed" / "releases") == bytes_of(tmp_path / "undisturbed" / "releases")
    assert job.leftovers() == []


@pytest.mark.slow
def test_the_author_behind_http_that_cannot_see_the_run_gives_the_same_release(job: Job, tmp_path: Path) -> None:
    settings = ("--seeds", *some_seeds(2), "--generations", "1", "--seed", "4")
    assert job.run(*settings, "--out", tmp_path / "inside").code == 0
    with ServedAuthor(tmp_path / "author") as author:
        assert not author.sees(tmp_path / "inside")
        assert job.run(*settings, *author.flags, "--out", tmp_path / "outside").code == 0
    assert bytes_of(tmp_path / "inside" / "releases") == bytes_of(tmp_path / "outside" / "releases")


def test_ctrl_c_drains_says_what_is_saved_and_exits_130(job: Job, tmp_path: Path) -> None:
    run = tmp_path / "run"
    settings = ("--seeds", *some_seeds(1), "--generations", "5", "--out", run)
    process = job.start(*settings)
    _wait_for_entries(run / "run.db", 3, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "Saved in" in out
    assert "Go on with the same command" in out
    assert job.leftovers() == []


def test_two_runs_on_one_folder_the_second_stops(job: Job, tmp_path: Path) -> None:
    run = tmp_path / "run"
    settings = ("--seeds", *some_seeds(1), "--generations", "3", "--out", run)
    first = job.start(*settings)
    try:
        _wait_for_entries(run / "run.db", 2, first)
        second = job.run(*settings)
        assert second.code == 2
        assert "another process is working in" in second.err
        assert "--out" in second.err
    finally:
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=120)


def test_no_key_reaches_the_disk(job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "sk-test-" + "s3cr3t" * 6
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    run = tmp_path / "run"
    with ServedAuthor(tmp_path / "author") as author:
        done = job.run("--seeds", *some_seeds(1), "--generations", "1", "--out", run, *author.flags)
    assert done.code == 0, done.err
    assert secret not in done.out + done.err
    holding = [path for path in run.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert holding == []


def test_the_journal_tells_what_was_spent(job: Job, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert job.run("--seeds", *some_seeds(1), "--generations", "1", "--out", run).code == 0
    with sqlite3.connect(run / "run.db") as journal:
        rows = journal.execute("SELECT key, value, input_tokens FROM entry WHERE kind = 'call' ORDER BY key").fetchall()
    assert all(tokens > 0 and json.loads(value) for _, value, tokens in rows)
    assert {key.split("/")[3] for key, _, _ in rows} == {"proposer", "critic", "evolver"}


def _entries(journal: Path) -> int:
    try:
        with sqlite3.connect(f"file:{journal}?mode=ro", uri=True) as db:
            return db.execute("SELECT count(*) FROM entry").fetchone()[0]
    except sqlite3.OperationalError:  # not there yet, or not set up yet
        return 0


def _wait_for_entries(journal: Path, count: int, process: subprocess.Popen) -> None:
    until = time.monotonic() + 180
    while _entries(journal) < count:
        if process.poll() is not None:
            return
        assert time.monotonic() < until, f"no {count} entries in the journal within three minutes"
        time.sleep(0.05)
