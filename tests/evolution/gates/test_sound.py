"""The sound tasks pass all gates, in order, through the panel."""

from __future__ import annotations

from evolution.gates.panel import judge
from evolution.gates.registry import DEFAULT_GATES, default_gates
from evolution.verdict import Candidate


async def test_seed_and_child_pass_every_gate(write, sandboxes, seed, child, plan) -> None:
    parent = write(seed)
    for candidate in (Candidate(parent), Candidate(write(child), parent, plan)):
        verdicts = await judge(candidate, sandboxes, default_gates())
        assert [verdict.gate for verdict in verdicts] == list(DEFAULT_GATES)
        assert all(verdict.passed for verdict in verdicts), [verdict.evidence for verdict in verdicts]


async def test_two_faults_of_one_stage_are_reported_the_same_way_each_time(write, sandboxes, seed) -> None:
    files = {
        **seed,
        "tests/test.sh": seed["tests/test.sh"].replace("\nexit 0", "\necho 0.6 > /logs/verifier/reward.txt\nexit 0"),
    }
    candidate = Candidate(write(files))
    first, second = [await judge(candidate, sandboxes, default_gates()) for _ in range(2)]
    assert [verdict.code for verdict in first] == ["", "", "", "oracle/below-one"]
    assert [v.model_copy(update={"seconds": 0}) for v in first] == [v.model_copy(update={"seconds": 0}) for v in second]
