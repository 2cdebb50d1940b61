"""A sample of the table of precision and recall: few sound tasks, one fault of each kind."""

from __future__ import annotations

import pytest

from evolution.faults.planting import kinds
from tests.benchmarks.conftest import rows

pytestmark = pytest.mark.slow  # every gate on some fifty tasks

MOST_MISSED = 2


def test_a_sample(run_benchmark, tmp_path) -> None:
    run_benchmark("gates", "--sound", "16", "--faults", "1", "--work", str(tmp_path / "work"), "--csv", str(tmp_path))
    found = {(row["kind"], row["written"]): row for row in rows(tmp_path / "gates.csv")}
    assert {kind for kind, _ in found} == {*kinds(), "ALL", "SOUND (refused)"}
    assert {row["shown_by"] for row in found.values()} == {"running", "reading", ""}
    sound = found["SOUND (refused)", "both"]
    assert (sound["tasks"], sound["found"]) == ("16", "0"), rows(tmp_path / "gates-precision.csv")
    running = found["ALL", "both"]
    missed = [kind for (kind, _), row in found.items() if row["shown_by"] == "running" and row["found"] == "0"]
    assert int(running["tasks"]) - int(running["found"]) <= MOST_MISSED, missed
