"""A sample of the comparison of the three ways to generate."""

from __future__ import annotations

import pytest

from evolution.config import MODES
from tests.benchmarks.conftest import rows

pytestmark = pytest.mark.slow  # many environments are written and judged


def test_a_sample(run_benchmark, tmp_path) -> None:
    options = ("--plans", "3", "--rates", "0", "0.9", "--control", "6", "--work", str(tmp_path / "work"))
    said = run_benchmark("generation_modes", *options, "--results", str(tmp_path))
    assert "The loop needs more tokens" in said
    found = {(row["mode"], float(row["fault_rate"])): row for row in rows(tmp_path / "generation_modes.csv")}
    assert set(found) == {(mode, rate) for mode in MODES for rate in (0, 0.9)}
    for mode in MODES:
        assert float(found[mode, 0]["first"]) == float(found[mode, 0]["sound"]) == 1, found[mode, 0]
    assert float(found["prompt", 0.9]["first"]) < 1
    assert float(found["loop", 0.9]["valid"]) >= float(found["prompt", 0.9]["valid"])
    control = {row["feedback"]: row for row in rows(tmp_path / "generation_modes_control.csv")}
    assert int(control["own"]["drafts"]) >= 3
    assert float(control["own"]["repaired"]) > float(control["none"]["repaired"])
    assert (tmp_path / "generation_modes.png").read_bytes().startswith(b"\x89PNG")
