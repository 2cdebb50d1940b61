"""Whether all rooms are ours: from folders and behind paths that hold packages of the same names."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.rooms import ROOMS, RoomsError, check_rooms

ROOT = Path(__file__).parents[2]
CHECK = [
    "-c",
    "from evolution.commands import rooms_problem; from sandbox.rooms import check_rooms; check_rooms(); print('ours')",
]


@pytest.fixture
def elsewhere(tmp_path):
    """Runs Python in another folder, the checkout behind it on the path (as `python -m` there finds an installed one)."""

    def run(*arguments, first=()):
        path = os.pathsep.join(map(str, (*first, tmp_path, ROOT)))
        return subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
        )

    return run


def test_here_they_are_ours():
    check_rooms()


def test_from_a_folder_that_holds_none_they_are_ours(elsewhere):
    assert elsewhere(*CHECK).stdout == "ours\n"


@pytest.mark.parametrize("room", ["rl", "graphs", "agents"])
@pytest.mark.parametrize("form", ["package", "module"])
def test_an_intruder_in_the_current_folder_is_named(elsewhere, tmp_path, room, form):
    intruder = tmp_path / room if form == "package" else tmp_path / f"{room}.py"
    if form == "package":
        intruder.mkdir()
        (intruder / "__init__.py").write_text('"""Mine."""\n')
    else:
        intruder.write_text('"""Mine."""\n')
    run = elsewhere("-m", "evolution.generation", "--dry-run")
    assert run.returncode == 2
    assert f"`import {room}` finds {intruder}, which is not envolve's" in run.stderr
    assert f"Run from a folder that holds no `{intruder.name}`" in run.stderr
    assert "Traceback" not in run.stderr


def test_an_intruder_called_sandbox_is_named_though_the_check_lies_in_ours(elsewhere, tmp_path):
    (tmp_path / "sandbox").mkdir()
    (tmp_path / "sandbox" / "__init__.py").touch()
    run = elsewhere("-m", "evolution.generation", "--dry-run")
    assert run.returncode == 2
    assert f"`import sandbox` finds {tmp_path / 'sandbox'}" in run.stderr


def test_a_folder_without_init_does_not_shadow_a_package(elsewhere, tmp_path):
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "notes.txt").touch()
    assert elsewhere(*CHECK).stdout == "ours\n"


def test_an_intruder_that_is_loaded_already_is_named(tmp_path, monkeypatch):
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "__init__.py").touch()
    for name in [name for name in sys.modules if name.partition(".")[0] == "agents"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    __import__("agents")
    try:
        with pytest.raises(RoomsError, match=f"`import agents` finds {tmp_path / 'agents'}"):
            check_rooms()
    finally:
        del sys.modules["agents"]


@pytest.fixture
def copy(tmp_path, elsewhere):
    """A copy of what the check looks at, to damage: an installed envolve that something wrote over."""
    for room in ROOMS:
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_bytes((ROOT / room / "__init__.py").read_bytes())
    (tmp_path / "sandbox" / "rooms.py").write_bytes((ROOT / "sandbox" / "rooms.py").read_bytes())

    def check():
        return elsewhere("-c", "from sandbox.rooms import check_rooms; check_rooms()").stderr.splitlines()

    assert check() == []
    return check


def test_a_room_that_was_written_over_is_named(copy, tmp_path):
    (tmp_path / "agents" / "__init__.py").write_text("from .agent import Agent\n")
    assert f"{tmp_path / 'agents' / '__init__.py'} is not envolve's" in copy()[-1]
    assert "`openai-agents`" in copy()[-1]


def test_a_room_whose_init_was_taken_away_is_named(copy, tmp_path):
    # pip uninstall of the distribution that had written over it.
    (tmp_path / "graphs" / "__init__.py").unlink()
    assert f"`import graphs` finds {ROOT / 'graphs'}" in copy()[-1]  # the next one on the path


def test_every_room_says_that_it_is_ours():
    for room in ROOMS:
        assert f"\nenvolve room: {room}\n" in (ROOT / room / "__init__.py").read_text()


@pytest.mark.parametrize(
    "door",
    [
        "sandbox.trial.__main__",
        "sandbox.doctor",
        "sandbox.shell.__main__",
        "sandbox.images",
        "sandbox.check",
        "sandbox.clean",
    ],
)
def test_a_door_names_the_intruder_and_ends_with_2(door, monkeypatch, capsys):
    module = importlib.import_module(door)
    monkeypatch.setattr(module, "rooms_problem", lambda: "`import agents` finds something else")
    assert module.main([]) == 2
    assert capsys.readouterr().err == "error: `import agents` finds something else\n"
