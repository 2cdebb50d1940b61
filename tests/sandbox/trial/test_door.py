"""`python -m sandbox.trial`: what it prints, what it keeps, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox.trial import __main__ as trial

BASE = ("--base", "*=host")


@pytest.fixture
def door(sandboxes, capsys):  # `sandboxes`: skips where this machine has none
    def call(*arguments: object) -> tuple[int, str, str]:
        try:
            code = trial.main([*map(str, arguments), *BASE])
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call


def test_one_trial_for_a_person_and_for_a_program(door, write, hello) -> None:
    root = write(hello).root
    assert door(root) == (0, "reward 1\n", "")
    code, out, _ = door(root, "--agent", "noop", "--json")
    told = json.loads(out)
    assert code == 0
    assert (told["agent"], told["reward"], told["class"], told["findings"]) == ("nop", 0, "scored", [])
    assert (told["steps"][0]["solution"], told["error_code"]) == (None, "")
    assert told["seconds"] > 0


def test_a_broken_task_stops_no_other_and_whose_fault_it_is_is_told(door, write, hello) -> None:
    silent = write({**hello, "tests/test.sh": "true\n"}, "silent").root
    wrong = write(hello, "wrong").root
    (wrong / "task.toml").write_text("[environment\n")
    no_image = write({**hello, "environment/Dockerfile": "FROM python:3.12-bookworm\nCOPY none /x\n"}, "no-image").root
    good = write(hello, "good").root
    code, out, _ = door(silent, wrong, no_image, good, "--json", "--attempts", 2)
    told = [json.loads(line) for line in out.splitlines()]
    assert code == 1
    assert [(one["task"], one["attempt"], one["reward"], one["class"], one["error_code"]) for one in told] == [
        ("silent", 1, None, "invalid", "missing"),
        ("silent", 2, None, "invalid", "missing"),
        ("wrong", 1, None, "invalid", "task"),
        ("wrong", 2, None, "invalid", "task"),
        ("no-image", 1, None, "invalid", "image"),
        ("no-image", 2, None, "invalid", "image"),
        ("good", 1, 1.0, "scored", ""),
        ("good", 2, 1.0, "scored", ""),
    ]


def test_what_this_machine_cannot_do_is_infrastructure(door, write, hello) -> None:
    code, out, _ = door(write(hello).root, "--json", "--network", "public")
    told = json.loads(out)
    if told["reward"] is not None:
        pytest.skip("this machine's back end has the public network")
    assert (code, told["class"], told["error_code"]) == (1, "infrastructure", "unsupported")
    assert "public" in told["error"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("/no/such/task",), "no such task folder: /no/such/task"),
        ((".", "--agent", "nobody"), "no such agent"),
        ((".", "--sandbox", "nothing"), "no sandbox back end 'nothing'"),
        ((".", "--attempts", "0"), "a number from 1"),
        ((".", "--agent-option", "x"), "expected KEY=VALUE"),
    ],
)
def test_wrong_use_ends_with_2_and_runs_nothing(door, arguments, said) -> None:
    code, out, err = door(*arguments)
    assert (code, out) == (2, "")
    assert said in err


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_trials_are_kept_in_folders(door, write, hello, tmp_path) -> None:
    out = tmp_path / "out"
    assert door(write(hello).root, "--out", out, "--attempts", 2)[0] == 0
    of_one = {"result.json", "config.json", "findings.json", "agent/trajectory.json"}
    of_one |= {"verifier/reward.txt", "verifier/test-stdout.txt"}
    assert files(out) == {"result.json", *(f"task__{number}/{name}" for number in (1, 2) for name in of_one)}
    assert (out / "task__1" / "verifier" / "reward.txt").read_text() == "1\n"
    assert (out / "task__1" / "verifier" / "test-stdout.txt").read_text() == "judging\n"
    told, did = json.loads((out / "task__1" / "agent" / "trajectory.json").read_text())["steps"]
    assert told["message"] == "Write hello to /app/out.\n"
    assert did["observation"]["results"][0]["content"] == "solved\naside\n"
    code, _, err = door(write(hello).root, "--out", out)
    assert code == 2
    assert "is there already" in err


def test_steps_are_kept_apart_and_two_tasks_of_one_name_too(door, write, two_steps, hello, tmp_path) -> None:
    out = tmp_path / "out"
    (tmp_path / "other").mkdir()
    again = write(hello, "other/task").root
    assert door(write(two_steps).root, again, "--out", out)[0] == 0
    of_a_step = ("agent/trajectory.json", "verifier/reward.txt", "verifier/test-stdout.txt")
    expected = {f"steps/{step}/{name}" for step in ("one", "two") for name in of_a_step}
    assert files(out / "task__1") == {"result.json", "config.json", "findings.json", *expected}
    assert (out / "task-2__1" / "result.json").is_file()


def test_what_an_agent_leaves_cannot_lead_out_of_the_folder(door, write, hello, tmp_path) -> None:
    prey = tmp_path / "prey"
    prey.write_text("mine\n")
    script = tmp_path / "agent.sh"
    script.write_text(
        f"cd /logs/agent; ln -s {prey} trajectory.json; ln -s {tmp_path} all; echo log > own.log; mkdir d\n"
        f"ln -s / d/root; ln -s {prey} ../artifacts/test-stdout.txt; echo kept > ../artifacts/kept\n"
    )
    out = tmp_path / "out"
    assert door(write(hello).root, "--out", out, "--agent", f"script:{script}")[0] == 0
    assert prey.read_text() == "mine\n"
    assert files(out / "task__1") >= {"agent/own.log", "artifacts/kept", "agent/trajectory.json"}
    assert not [path for path in out.rglob("*") if path.is_symlink()]


def test_a_trial_that_never_started_is_kept_too(door, write, hello, tmp_path) -> None:
    broken = write({**hello, "environment/Dockerfile": "FROM python:3.12-bookworm\nCOPY none /x\n"})
    assert door(broken.root, "--out", tmp_path / "out")[0] == 1
    told = json.loads((tmp_path / "out" / "task__1" / "result.json").read_text())
    assert told["exception_info"]["exception_type"] == "SandboxBuildFailedError"
    assert told["verifier_result"] is None
