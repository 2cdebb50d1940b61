"""The command that shows and removes what dead processes left; a real process is killed for each test."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from sandbox import clean
from sandbox.backends import load_backend
from sandbox.conformance.stage import processes_with
from sandbox.conformance.subject import Subject
from sandbox.errors import SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SUBJECTS = {
    "local": Subject("local", options={"i_am_in_a_sandbox": True, "as_it_stands": True}),
    "bubblewrap": Subject("bubblewrap", ("*=host",)),
}


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is stale elsewhere on this machine is no affair of these tests."""
    monkeypatch.setenv("ENVOLVE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "300")


@pytest.fixture(params=SUBJECTS)
def living(request: pytest.FixtureRequest) -> Iterator[tuple[str, subprocess.Popen[str], list[str], str]]:
    """The name of a back end, a process that has two sandboxes of it, their ids, and a word in their processes."""
    name = request.param
    try:
        asyncio.run(_ask(name))
    except SandboxUnavailableError as error:
        pytest.skip(f"{name} cannot run here: {error}")
    mark = f"envolve-mark-clean-{name}"
    process = subprocess.Popen(
        [sys.executable, "-m", "sandbox.conformance.orphan", SUBJECTS[name].dumped(), mark, "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    ids = json.loads(process.stdout.readline())
    yield name, process, ids, mark
    process.kill()
    process.wait()
    clean.main(["--sandbox", name])


async def _ask(name: str) -> None:
    backend = SUBJECTS[name].make()
    await backend.capabilities()
    await backend.close()


def test_the_living_are_left_alone_the_dead_are_listed_and_then_removed(
    living: tuple[str, subprocess.Popen[str], list[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    name, process, ids, mark = living
    running = [pid for pid in processes_with(mark) if pid != process.pid]
    assert clean.main(["--sandbox", name]) == 0
    assert f"{name}: nothing that a dead process left" in capsys.readouterr().out
    assert [pid for pid in processes_with(mark) if pid != process.pid] == running
    process.kill()
    process.wait()

    assert clean.main(["--sandbox", name, "--dry-run"]) == 1
    shown = capsys.readouterr().out
    assert "a rehearsal: nothing was removed" in shown
    assert shown.count("sandbox ") >= 2
    assert clean.main(["--sandbox", name, "--dry-run"]) == 1, "a rehearsal removes nothing"
    capsys.readouterr()

    assert clean.main(["--sandbox", name]) == 0
    shown = capsys.readouterr().out
    assert "yes" in shown
    assert "could not be removed" not in shown
    assert processes_with(mark) == []
    assert clean.main(["--sandbox", name, "--dry-run"]) == 0
    del ids


def test_images_are_kept_unless_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        asyncio.run(_build_one())
    except SandboxUnavailableError as error:
        pytest.skip(f"no sandbox on this machine: {error}")
    assert clean.main(["--sandbox", "bubblewrap", "--dry-run"]) == 0
    assert "images: left alone (--images-unused-for DAYS)" in capsys.readouterr().out
    assert clean.main(["--sandbox", "bubblewrap", "--images-unused-for", "30"]) == 0
    assert "bubblewrap: nothing" in capsys.readouterr().out, "it was used a moment ago"
    assert clean.main(["--sandbox", "bubblewrap", "--images-unused-for", "0", "--dry-run"]) == 1
    assert "image " in capsys.readouterr().out
    assert clean.main(["--sandbox", "bubblewrap", "--images-unused-for", "0"]) == 0
    capsys.readouterr()
    assert clean.main(["--sandbox", "bubblewrap", "--images-unused-for", "0", "--dry-run"]) == 0


async def _build_one() -> None:
    from sandbox.conformance.stage import TASK_FOLDER
    from sandbox.task import Task

    backend = load_backend("bubblewrap", base=("*=host",))
    try:
        await backend.build(Task.read(TASK_FOLDER))
    finally:
        await backend.close()


def test_a_back_end_that_cannot_be_asked_is_told_and_only_an_error_when_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    monkeypatch.delenv("E2B_API_KEY", raising=False)
    assert clean.main(["--dry-run"]) in (0, 1)
    shown = capsys.readouterr().out
    assert "docker: not asked:" in shown
    assert "e2b: not asked:" in shown
    assert clean.main(["--sandbox", "docker", "--dry-run"]) == 2
    assert clean.main(["--sandbox", "no-such-one"]) == 2
    assert "no sandbox back end 'no-such-one'" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--images-unused-for", "-1"], ["--images-unused-for", "soon"], ["--all"]])
def test_wrong_use_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        clean.main(arguments)
    assert stopped.value.code == 2
    assert "usage:" in capsys.readouterr().err
