"""A sample of what validating costs, with a kill in the middle."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow  # a run, a killed one, and the rest of that


def test_a_killed_validation_goes_on(run_benchmark) -> None:
    said = run_benchmark("validation_cost", "--tasks", "6", "--workers", "3")
    assert "6 tasks (6 accepted), 3 workers" in said
    assert "verdicts are the same; left over of sandboxes: 0" in said
