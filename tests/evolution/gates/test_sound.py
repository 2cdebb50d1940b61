"""The sound tasks pass all gates, in order, through the panel."""

from __future__ import annotations

import pytest

from evolution.gates.panel import judge
from evolution.gates.registry import DEFAULT_GATES, default_gates, make_gates
from evolution.verdict import Candidate


async def test_seed_and_child_pass_every_gate(write, sandboxes, seed, child, plan) -> None:
    parent = write(seed)
    for candidate in (Candidate(parent), Candidate(write(child), parent, plan)):
        verdicts = await judge(candidate, sandboxes, default_gates())
        assert [verdict.gate for verdict in verdicts] == list(DEFAULT_GATES)
        assert all(verdict.passed for verdict in verdicts), [verdict.evidence for verdict in verdicts]


async def test_a_sound_task_passes_the_gates_of_validation_too(write, sandboxes, seed) -> None:
    verdicts = await judge(Candidate(write(seed)), sandboxes, make_gates(["exploit", "alternative", "mutation"]))
    assert [(verdict.gate, verdict.code) for verdict in verdicts] == [
        ("exploit", ""),
        ("alternative", ""),
        ("mutation", ""),
    ]


@pytest.mark.slow
async def test_a_verifier_that_looks_whether_there_is_something_fails_them(write, sandboxes, seed) -> None:
    script = seed["tests/test.sh"].replace(
        "cmp /app/out/paid.csv /tests/expected/paid.csv", "test -e /app/out/paid.csv"
    )
    script = script.replace("cmp /app/out/totals.txt /tests/expected/totals.txt", "test -e /app/out/totals.txt")
    candidate = Candidate(write({**seed, "tests/test.sh": script}))
    verdicts = await judge(candidate, sandboxes, make_gates(["exploit", "mutation"]), thorough=True)
    assert [verdict.code for verdict in verdicts] == ["exploit/empty-outputs", "mutation/unchecked"]


async def test_two_faults_of_one_stage_are_reported_the_same_way_each_time(write, sandboxes, seed) -> None:
    files = {
        **seed,
        "tests/test.sh": seed["tests/test.sh"].replace("\nexit 0", "\necho 0.6 > /logs/verifier/reward.txt\nexit 0"),
    }
    candidate = Candidate(write(files))
    first, second = [await judge(candidate, sandboxes, default_gates()) for _ in range(2)]
    assert [verdict.code for verdict in first] == ["", "", "", "oracle/below-one"]
    assert [v.model_copy(update={"seconds": 0}) for v in first] == [v.model_copy(update={"seconds": 0}) for v in second]
