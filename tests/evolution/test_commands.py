"""The console script: a table of doors."""

import importlib.util

import pytest

from evolution import commands
from evolution.commands import COMMANDS, main, rooms_problem


@pytest.mark.parametrize("words", [[], ["help"], ["--help"], ["-h"]])
def test_alone_it_lists_the_commands(words, capsys):
    assert main(words) == 0
    said = capsys.readouterr().out
    for name, (module, purpose) in COMMANDS.items():
        assert f"{name} " in said
        assert f"{purpose} (python -m {module})" in said


def test_an_unknown_command_is_exit_2_and_lists_them(capsys):
    assert main(["evolve"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "unknown command 'evolve'" in said.err
    assert "generation" in said.err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_there(name):
    module, _ = COMMANDS[name]
    assert importlib.util.find_spec(module) is not None


def test_a_command_gets_the_words_after_it_and_gives_its_exit_code(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["generation", "--help"])
    assert ended.value.code == 0
    assert "--seeds" in capsys.readouterr().out
    assert main(["generation", "--effort", "extreme"]) == 2
    assert "effort: " in capsys.readouterr().err


def test_the_rooms_here_are_ours():
    assert rooms_problem() == ""


def test_a_room_that_is_not_ours_is_named_before_a_command_starts(monkeypatch, capsys):
    monkeypatch.setattr(commands, "rooms_problem", lambda: "`import agents` finds something else")
    assert main(["generation", "--help"]) == 2
    assert capsys.readouterr().err == "error: `import agents` finds something else\n"
