"""The catalogue lists every code that a gate can say, and none that nothing says."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import evolution.gates
from evolution import validate
from evolution.gates.panel import CODES
from evolution.gates.registry import BUILT_IN, gate_class
from evolution.validation.codes import catalogue

HOME = Path(evolution.gates.__file__).parent
SAYING = {"invalid": 1, "miscalibrated": 1, "infrastructure": 1, "finding": 1, "Finding": 0}
"""Functions that are given the part of a code after the gate's name, and at which place."""


def files_of(gate: str) -> list[Path]:
    """The modules of a gate: its own and those beside it that begin with its name, but for another gate's."""
    stems = {name: name.replace("-", "_") for name in BUILT_IN}

    def owner(stem: str) -> str | None:
        fitting = [name for name, prefix in stems.items() if stem == prefix or stem.startswith(f"{prefix}_")]
        return max(fitting, key=len, default=None)

    return [file for file in sorted(HOME.glob("*.py")) if owner(file.stem) == gate]


ELSEWHERE = {
    "rerun": ("sandbox/perturbing.py", "sandbox/conditions.py", "sandbox/shifting.py", "sandbox/reordering.py")
}
"""Where the words of a gate's codes are written, when it names its findings after something of the room below."""


def trees(gate: str) -> list[ast.Module]:
    return [ast.parse(file.read_text()) for file in files_of(gate)]


def said(gate: str) -> set[str]:
    """Codes that are written where something is said; those that come out of variables are not seen."""
    found = set()
    for tree in trees(gate):
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            name = (
                call.func.id
                if isinstance(call.func, ast.Name)
                else call.func.attr
                if isinstance(call.func, ast.Attribute)
                else ""
            )
            place = SAYING.get(name)
            if place is None or len(call.args) <= place:
                continue
            found |= {
                part.value
                for part in ast.walk(call.args[place])
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            }
    return found


def written(gate: str) -> set[str]:
    """All words in a gate's modules but the keys of its catalogue."""
    found: set[str] = set()
    below = [ast.parse((HOME.parents[1] / path).read_text()) for path in ELSEWHERE.get(gate, ())]
    for tree in [*trees(gate), *below]:
        keys = {
            id(key)
            for node in ast.walk(tree)
            if isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and node.target.id == "codes"
            and isinstance(node.value, ast.Dict)
            for key in node.value.keys
        }
        found |= {
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in keys
        }
    return found


@pytest.mark.parametrize("gate", BUILT_IN)
def test_each_gate_lists_what_it_says(gate):
    codes = gate_class(gate).codes
    assert gate_class(gate).name == gate
    assert said(gate) - set(codes) - set(CODES) == set()
    assert all(meaning and "\n" not in meaning.strip() for meaning in codes.values())


@pytest.mark.parametrize("gate", [gate for gate in BUILT_IN if gate != "rubric-judge"])
def test_no_gate_lists_what_nothing_says(gate):
    assert set(gate_class(gate).codes) - written(gate) == set()


def test_the_listing_has_every_code_and_what_any_gate_may_say(capsys):
    assert validate.main(["--codes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = [line.split(maxsplit=1)[0] for line in lines]
    assert listed == list(catalogue())
    assert len(set(listed)) == len(listed)
    assert {
        "task/unreadable",
        "oracle/below-one",
        "rubric/clock",
        "harder/step-not-needed",
        "rubric-judge/spelling",
        "<gate>/sandbox",
        "<gate>/crashed",
    } <= set(listed)
    assert all(len(line.split(maxsplit=1)) == 2 for line in lines)


def test_the_codes_of_some_gates(capsys):
    assert validate.main(["--codes", "--gates", "noop"]) == 0
    listed = [line.split(maxsplit=1)[0] for line in capsys.readouterr().out.splitlines()]
    assert [code for code in listed if not code.startswith("<gate>")] == [
        "task/unreadable",
        *(f"noop/{what}" for what in gate_class("noop").codes),
    ]
    assert validate.main(["--codes", "--gates", "nothing"]) == 2
