"""The command on good and bad folders: one line for each, in order, and an exit code that a CI can go by."""

from __future__ import annotations

from pathlib import Path

import pytest
from junitparser import JUnitXml

BASICS = ("--gates", "build", "oracle", "noop")


def test_each_task_has_its_line_in_order_whatever_is_wrong_with_the_others(command, put, tmp_path):
    good = put("b-good")
    toml = put("a-toml", toml="[task\n")
    unbuildable = put("c-image", dockerfile="FROM python:3.12-bookworm\nCOPY missing /app/\n")
    hanging = put(
        "d-hanging",
        solve="#!/bin/bash\nsleep 600\n",
        toml='schema_version = "1.4"\n[task]\nname = "tests/d-hanging"\n[agent]\ntimeout_sec = 2\n',
    )
    nothing = tmp_path / "empty"
    nothing.mkdir()
    crash = put("e-crash")
    answer = command(
        tmp_path / "tasks",
        nothing,
        tmp_path / "nowhere",
        "--gates",
        "build",
        "oracle",
        "noop",
        "misbehaving:Crashing",
        "--json",
        "--workers",
        "3",
    )
    assert [Path(line["path"]) for line in answer.lines] == [
        toml,
        good,
        unbuildable,
        hanging,
        crash,
        nothing,
        tmp_path / "nowhere",
    ]
    assert [line["class"] for line in answer.lines] == [
        "invalid",
        "accepted",
        "invalid",
        "invalid",
        "infrastructure",
        "invalid",
        "invalid",
    ]
    assert answer.code == 1
    sound = answer.by_task["tests/b-good"]["gates"]
    assert list(sound) == ["build", "crashing", "oracle", "noop"]
    assert all(
        {"passed", "evidence", "findings", "seconds"} <= gate.keys() and gate["passed"] for gate in sound.values()
    )
    assert "task.toml" in answer.by_task["a-toml"]["error"]["evidence"]
    assert answer.by_task["a-toml"]["error"]["code"] == "task/unreadable"
    image = answer.by_task["tests/c-image"]
    assert image["gates"]["build"]["code"] == "build/fails"
    assert "missing" in image["gates"]["build"]["evidence"]
    assert image["not_asked"] == ["oracle", "noop"]
    assert "its time" in answer.by_task["tests/d-hanging"]["gates"]["oracle"]["evidence"]
    crashed = answer.by_task["tests/e-crash"]["gates"]
    assert crashed["crashing"]["code"] == "crashing/crashed"
    assert "KeyError: 'lost'" in crashed["crashing"]["evidence"]
    assert str(tmp_path) not in crashed["crashing"]["evidence"]
    assert crashed["oracle"]["passed"]
    assert "7 tasks in" in answer.err
    assert "1 accepted, 5 invalid, 1 infrastructure" in answer.err


def test_exit_codes(command, put, tmp_path):
    good, bad = put("good"), put("bad", solve="#!/bin/bash\ntrue\n")
    assert command(good, *BASICS).code == 0
    refused = command(good, bad, *BASICS)
    assert refused.code == 1
    assert "tests/bad: invalid" in refused.out
    assert "oracle/below-one" in refused.out
    assert command(good, "--gates", "misbehaving:Silent").code == 3
    assert "not a Verdict" in command(good, "--gates", "misbehaving:Silent").out
    assert command(bad, "--gates", "oracle", "misbehaving:Silent").code == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("--gates", "nothing"), "no gate 'nothing'"),
        (("--gates", "build", "--skip", "build"), "--skip leaves no gate"),
        (("--skip", "bild"), "--skip bild: no such gate"),
        (("--workers", "0"), "--workers: 0, expected 1 or more"),
        (("--flakiness", "2"), "--flakiness: "),
        (("--band", "0.9", "0.1"), "give the lower end first"),
        (("--sandbox", "nothing"), "no sandbox back end 'nothing'"),
        (("--base", "nonsense"), "--base"),
        (("--junit", "/nowhere/at/all.xml"), "--junit /nowhere/at/all.xml"),
        (("--gates", "calibration"), "--solver"),
        (("--gates", "build", "misbehaving:Picky"), "two of them are called 'build'"),
        (("--suppressions", "/nowhere.toml"), "an entry looks like this"),
        (("--budget-usd", "-1"), "--budget-usd"),
    ],
)
def test_wrong_use_is_said_before_anything_runs(command, put, wrong, said):
    answer = command(put("good"), *wrong)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: ")
    assert said in answer.err


def test_junit_is_written_beside_the_text(command, put, tmp_path):
    put("bad", solve="#!/bin/bash\ntrue\n")
    put("good")
    answer = command(tmp_path / "tasks", *BASICS, "--junit", tmp_path / "j.xml")
    assert answer.code == 1
    suites = {suite.name: suite for suite in JUnitXml.fromfile(str(tmp_path / "j.xml"))}
    assert {name: (suite.tests, suite.failures, suite.errors) for name, suite in suites.items()} == {
        "tests/bad": (3, 1, 0),
        "tests/good": (3, 0, 0),
    }


def test_no_task_at_all_is_wrong_use(command):
    with pytest.raises(SystemExit) as ended:
        command()
    assert ended.value.code == 2


def test_sandboxes_that_fail_twice_are_tried_again_in_the_end(command, put, tmp_path):
    (tmp_path / "failures").write_text("2")
    put("a")
    put("b")
    answer = command(
        tmp_path / "tasks",
        "--gates",
        "build",
        "--sandbox",
        "misbehaving:Failing",
        "--base",
        "*=host",
        "--workers",
        "1",
        "--json",
    )
    assert answer.code == 0
    assert [line["class"] for line in answer.lines] == ["accepted", "accepted"]
    shown = [line for line in answer.err.splitlines() if ": " in line]
    assert shown[0] == "a: something of ours failed, tried again at the end"
    assert shown[1].startswith("[1/2] tests/b: accepted")


def test_what_could_not_be_judged_stands_apart_and_is_not_kept(command, put, tmp_path):
    words = (put("a"), "--gates", "build", "--sandbox", "misbehaving:Failing", "--base", "*=host", "--json")
    (tmp_path / "failures").write_text("1000")
    failed = command(*words)
    assert failed.code == 3
    assert failed.lines[0]["class"] == "infrastructure"
    assert failed.lines[0]["gates"]["build"]["code"] == "build/sandbox"
    assert "the sandbox was lost" in failed.lines[0]["gates"]["build"]["evidence"]
    (tmp_path / "failures").write_text("0")
    assert command(*words).code == 0


def test_an_invalid_task_is_completed_too(command, put, tmp_path):
    (tmp_path / "failures").write_text("2")
    task = put("a", test="#!/bin/bash\nif then\n")
    answer = command(
        task,
        "--gates",
        "misbehaving:Counting",
        "build",
        "--sandbox",
        "misbehaving:Failing",
        "--base",
        "*=host",
        "--json",
    )
    assert answer.lines[0]["gates"]["build"]["code"] == "build/syntax"
    assert (tmp_path / "asked").read_text().split() == ["tests/a", "tests/a"]


def test_the_same_folder_and_the_same_content_twice(command, put, tmp_path):
    first = put("first", name="tests/same")
    put("second", name="tests/same")
    answer = command(tmp_path / "tasks", first, "--gates", "misbehaving:Counting", "--json", "--workers", "4")
    assert [Path(line["path"]).name for line in answer.lines] == ["first", "second"]
    assert (tmp_path / "asked").read_text().split() == ["tests/same"]


def test_a_name_that_comes_from_the_folder_is_not_another_folders(command, put, tmp_path):
    put("first", toml='schema_version = "1.4"\n')
    put("second", toml='schema_version = "1.4"\n')
    for folder in ("first", "second"):
        (tmp_path / "tasks" / folder / "instruction.md").write_text("Copy /app/a to /app/b.\n")
        (tmp_path / "tasks" / folder / "environment" / "a").write_text("one\n")
    answer = command(tmp_path / "tasks", "--gates", "misbehaving:Counting", "--json")
    assert [line["task"] for line in answer.lines] == ["first", "second"]


def test_fail_fast_leaves_a_task_at_its_first_refusal(command, put):
    answer = command(
        put("bad", solve="#!/bin/bash\ntrue\n"),
        "--gates",
        "oracle",
        "misbehaving:Crashing",
        "build",
        "--fail-fast",
        "--json",
    )
    assert list(answer.lines[0]["gates"]) == ["crashing", "build", "oracle"]
    answer = command(put("worse", dockerfile="FROM x\nCOPY missing /\n"), *BASICS, "--fail-fast", "--json")
    assert list(answer.lines[0]["gates"]) == ["build"]


@pytest.mark.slow
def test_thirty_tasks_with_eight_workers(command, put, tmp_path):
    for number in range(30):
        put(f"t{number:02d}", **({"solve": "#!/bin/bash\ntrue\n"} if number % 7 == 0 else {}))
    answer = command(tmp_path / "tasks", *BASICS, "--workers", "8", "--json")
    assert [line["task"] for line in answer.lines] == [f"tests/t{number:02d}" for number in range(30)]
    assert [line["class"] for line in answer.lines].count("invalid") == 5
    assert command.stale() == ()
