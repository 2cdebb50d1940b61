"""What a validation was asked to do, and what its results depend on."""

from __future__ import annotations

from pathlib import Path

import pytest

from evolution.errors import ConfigError
from evolution.gates.errors import GateError
from evolution.gates.registry import gate_class, make_gates
from evolution.gates.settings import GateSettings
from evolution.validation.identity import identity
from evolution.validation.job import Job


def job(tmp_path: Path, **given: object) -> Job:
    given = {"tasks": [tmp_path], "gates": ["rubric", "build"], **given}
    settings = {name: value for name, value in given.items() if name in GateSettings.model_fields}
    return Job.of(given, GateSettings.model_validate(settings))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"solver": "openai/x"}, "--solver is for gate calibration, which is not asked"),
        ({"held_out": ["x"]}, "--held-out is for gate overlap"),
        ({"alternatives": "x"}, "--alternatives is for gate alternative"),
        ({"rubrics": "x"}, "--rubrics is for gate rubric-judge"),
        ({"api_base": "http://x"}, "--api-base .* none is named"),
        ({"budget_usd": float("nan")}, "--budget-usd: nan"),
        ({"budget_usd": float("inf")}, "--budget-usd: inf"),
        ({"workers": 0}, "--workers: 0"),
    ],
)
def test_slips_of_the_pen_are_told(tmp_path, given, said):
    with pytest.raises(ConfigError, match=said):
        job(tmp_path, **given)
    if "rubrics" in given:  # a gate of somebody else's may use it
        job(tmp_path, gates=["somebody:Elses"], **given)


def test_links_that_lead_in_a_circle_are_a_folder_like_any_other(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert job(tmp_path, tasks=[loop]).tasks == (loop,)


def test_files_that_gates_are_told_of_have_to_be_there(tmp_path):
    with pytest.raises(GateError, match="is no folder of solutions"):
        make_gates(["alternative"], GateSettings(alternatives=tmp_path / "none"))


BROKEN = {
    "of_syntax": "def (",
    "of_itself": "raise RuntimeError('not today')",
    "of_making": "class G:\n    def __init__(self):\n        raise ValueError('no such thing')",
}


@pytest.mark.parametrize("name", [*(f"{module}:G" for module in BROKEN), ":G", ".relative:G", "os:nothing"])
def test_a_gate_that_cannot_be_loaded_is_an_error_of_ours(tmp_path, monkeypatch, name):
    for module, text in BROKEN.items():
        (tmp_path / f"{module}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(GateError, match=f"gate '{name}'"):
        make_gates([name])


def test_results_depend_on_the_server_the_base_and_the_code_that_is_named(tmp_path, monkeypatch):
    base, solver = tmp_path / "base.tar", tmp_path / "my_solver.py"
    base.write_bytes(b"one")
    solver.write_text("class Solver: ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    given = {"base": (f"*={base}",), "model": "openai/x", "gates": ["calibration"], "solver": "my_solver:Solver"}

    def now(**more: object) -> str:
        return identity(job(tmp_path, **{**given, **more}))

    first = now()
    assert now() == first
    assert now(api_base="http://a") != now(api_base="http://b") != first
    base.write_bytes(b"other")
    second = now()
    solver.write_text("class Solver: 'another'\n")
    third = now()
    assert len({first, second, third}) == 3
    assert gate_class("calibration").name == "calibration"
