"""Killed, interrupted, started twice: what finished is kept, and no sandbox is left."""

from __future__ import annotations

import json
import signal
import subprocess
import time

import pytest

pytestmark = pytest.mark.slow  # each test starts many sandboxes or processes


GATES = ("--gates", "misbehaving:Counting", "build", "oracle", "noop")


def asked(place):
    return (place / "asked").read_text().split()


def without_times(lines):
    for line in lines:
        line.pop("seconds")
        line.pop("verifier_seconds")
        for gate in line["gates"].values():
            gate.pop("seconds")
    return lines


def until_finished(process, count):
    """Waits until that many tasks are through; their lines come on standard error."""
    seen = []
    for line in process.stderr:
        seen += [line] if line.startswith("[") else []
        if len(seen) == count:
            return seen
    raise AssertionError(f"it ended after {seen}, status {process.wait()}")


def test_a_killed_run_goes_on_where_it_was(command, put, tmp_path):
    for number in range(5):
        put(f"t{number}", **({"solve": "#!/bin/bash\ntrue\n"} if number == 1 else {}))
    words = (tmp_path / "tasks", *GATES, "--workers", "1")
    process = command.start(*words)
    until_finished(process, 2)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    began = asked(tmp_path)
    again = command.finish(
        command.start(*words, "--json")
    )  # not in this process: it may have read older code of the gates
    assert again.code == 1
    assert "2 kept from an earlier run" in again.err or "3 kept from an earlier run" in again.err
    counts = {name: asked(tmp_path).count(name) for name in dict.fromkeys(asked(tmp_path))}
    assert counts["tests/t0"] == counts["tests/t1"] == 1
    assert len(counts) == 5
    assert set(began) >= {"tests/t0", "tests/t1"}
    assert command.stale() == ()
    undisturbed = command(*words, "--json", "--out", tmp_path / "other")
    assert without_times(again.lines) == without_times(undisturbed.lines)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupted_run_ends_cleanly(command, put, tmp_path, name):
    put("a")
    put("b", solve="#!/bin/bash\nsleep 300\n")
    process = command.start(tmp_path / "tasks", *GATES, "--workers", "2", stdout=subprocess.DEVNULL)
    until_finished(process, 1)
    time.sleep(0.5)  # it is somewhere in the hanging solution, or on its way there
    process.send_signal(getattr(signal, name))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "what finished is kept" in err
    assert "Traceback" not in err
    assert command.stale() == ()


def test_two_processes_do_not_share_a_folder(command, put, tmp_path):
    put("a", solve="#!/bin/bash\nsleep 300\n")
    put("b")
    process = command.start(tmp_path / "tasks", *GATES, "--workers", "2")
    try:
        until_finished(process, 1)
        second = command(tmp_path / "tasks", *GATES, "--fresh")
        assert (second.code, second.out) == (2, "")
        assert f"another process validates into {tmp_path / 'out'}" in second.err
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert (tmp_path / "out" / "validation.db").exists()


def test_what_results_depend_on_makes_them_anew_and_nothing_else(command, put, tmp_path, monkeypatch):
    task, other = put("a"), put("b")
    gates = ("--gates", "misbehaving:Counting")

    def times(*words):
        before = len(asked(tmp_path)) if (tmp_path / "asked").exists() else 0
        assert command(task, other, *gates, *words).code == 0
        return len(asked(tmp_path)) - before

    assert times() == 2
    assert times("--workers", "1", "--json", "--sandboxes", "3") == 0
    assert times("--reruns", "7") == 2
    rubrics = tmp_path / "rubrics.yaml"
    rubrics.write_text("version: 1\nrubrics: []\n")
    assert (times("--rubrics", str(rubrics)), times("--rubrics", str(rubrics))) == (2, 0)
    rubrics.write_text("version: 22\nrubrics: []\n")
    assert times("--rubrics", str(rubrics)) == 2
    suppressions = tmp_path / "s.toml"
    suppressions.write_text('[[suppress]]\ncode = "x/y"\ntask = "tests/b"\nreason = "known"\n')
    assert times("--suppressions", str(suppressions)) == 1
    assert times("--fresh") == 2
    assert (tmp_path / "out" / "old-1" / "validation.db").exists()
    assert times() == 0
    assert times("--model", "embedded/author", "--api-base", "http://127.0.0.1:9") == 0  # which no gate here asks
    (task / "environment" / "a").write_text("another\n")
    assert times() == 1
    plugin = tmp_path / "misbehaving.py"
    plugin.write_text(plugin.read_text() + "# changed\n")
    assert times() == 2


def test_json_goes_to_its_file_while_the_table_is_on_the_terminal(command, put, tmp_path):
    import pty

    put("a")
    leader, follower = pty.openpty()
    with (tmp_path / "report.jsonl").open("w") as report:
        words = [
            word for word in command.words((tmp_path / "tasks", "--gates", "build", "--json")) if word != "--plain"
        ]
        import os
        import sys

        environment = {**os.environ, "TERM": "xterm"}
        process = subprocess.Popen(
            [sys.executable, "-m", "evolution.validate", *words], stdout=report, stderr=follower, env=environment
        )
    assert process.wait(timeout=120) == 0
    os.close(follower)
    os.close(leader)
    assert json.loads((tmp_path / "report.jsonl").read_text())["task"] == "tests/a"


def test_whoever_stops_reading_ends_it_quietly(command, put, tmp_path):
    for number in range(3):
        put(f"t{number}")
    process = command.start(tmp_path / "tasks", "--gates", "misbehaving:Counting", "build", "--json", "--workers", "1")
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=120)
    assert "Traceback" not in err
    assert process.returncode == 130
