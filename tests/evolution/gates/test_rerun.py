"""What differs between fresh runs is flakiness; the faults here are made of what differs: process ids and chance."""

from __future__ import annotations

import pytest

from evolution.gates.rerun import RerunGate, difference
from sandbox.trial.result import StepResult, trial_result
from sandbox.verification.ctrf import Unit
from sandbox.verification.reward import Reward
from sandbox.verification.verify import Verification

FLIP = "$(( $(od -An -N4 -tu4 /dev/urandom) % 2 ))"


async def test_sound_tasks_pass(check, seed, child) -> None:
    for files in (seed, child):
        verdict = await check(RerunGate(), files)
        assert verdict.passed, verdict.evidence


async def test_a_reward_of_chance(check, seed) -> None:
    script = seed["tests/test.sh"].replace(
        "\nexit 0", f"\n[ {FLIP} = 0 ] || echo 0 > /logs/verifier/reward.txt\nexit 0"
    )
    verdict = await check(RerunGate(runs=12), {**seed, "tests/test.sh": script})
    assert verdict.code == "rerun/reward-differs"
    assert "run by run:" in verdict.evidence


async def test_a_unit_named_by_chance(check, seed) -> None:
    script = seed["tests/test.sh"].replace("unit paid::rows", "unit paid::$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')")
    verdict = await check(RerunGate(), {**seed, "tests/test.sh": script})
    assert verdict.code == "rerun/units-differ"
    assert "absent, passed" in verdict.evidence
    assert "totals::sums" not in verdict.evidence


async def test_nothing_done_that_passes(check, seed) -> None:
    script = seed["tests/test.sh"].replace('[ "$failed" = 0 ] &&', "")
    verdict = await check(RerunGate(), {**seed, "tests/test.sh": script})
    assert verdict.code == "rerun/noop-differs"


def run(score: float | None, **units: str):
    reward = None if score is None else Reward({"reward": score})
    found = tuple(Unit(name, status) for name, status in units.items())
    code = "missing" if score is None else ""
    return trial_result("oracle", [StepResult("main", None, Verification("main", reward, code, code, found))], None)


@pytest.mark.parametrize(
    ("runs", "code", "said"),
    [
        ([run(1, a="passed"), run(1, a="passed")], None, ""),
        ([run(1), run(0)], "reward-differs", "1, 0"),
        ([run(0.5), run(0.5)], "reward-differs", "0.5, 0.5"),
        ([run(1), run(None)], "no-reward", "run 2 of 2"),
        ([run(1, a="passed", b="passed"), run(1, a="skipped", b="passed")], "unit-differs", "a: passed, skipped"),
        ([run(1, a="passed"), run(1, b="passed")], "units-differ", "b: absent, passed"),
    ],
)
def test_what_differs_is_named(runs: list, code: str | None, said: str) -> None:
    found = difference(runs)
    assert (found and found[0]) == code
    assert said in (found[1] if found else "")


def test_one_run_cannot_differ() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        RerunGate(runs=1)
