"""Doing nothing must not be rewarded, and must not break the verifier."""

from __future__ import annotations

import pytest

from evolution.gates.noop import NoopGate
from evolution.verdict import VerdictClass


async def test_sound_tasks_pass(check, seed, child) -> None:
    for files in (seed, child):
        verdict = await check(NoopGate(), files)
        assert verdict.passed, verdict.evidence


def ending(files: dict, last: str) -> dict:
    return {**files, "tests/test.sh": files["tests/test.sh"].replace("\nexit 0", f"\n{last}\nexit 0")}


@pytest.mark.parametrize(
    ("last", "code"),
    [
        ("echo 1 > /logs/verifier/reward.txt", "passes"),
        ("echo 0.5 > /logs/verifier/reward.txt", "passes"),
        ("echo 0.25 > /logs/verifier/reward.txt", "not-zero"),
        ("echo -1 > /logs/verifier/reward.txt", "out-of-range"),
        ("rm /logs/verifier/reward.txt", "no-reward"),
        ("cat /app/out/score > /logs/verifier/reward.txt", "no-reward"),
    ],
)
async def test_rewards_for_nothing(check, seed, last: str, code: str) -> None:
    verdict = await check(NoopGate(), ending(seed, last))
    assert (verdict.verdict_class, verdict.code) == (VerdictClass.INVALID, f"noop/{code}"), verdict.evidence


async def test_a_fraction_may_give_a_little(check, seed) -> None:
    files = ending(seed, "echo 0.25 > /logs/verifier/reward.txt")
    files["task.toml"] = files["task.toml"].replace('"binary"', '"fraction"')
    assert (await check(NoopGate(), files)).passed


async def test_units_that_pass_without_work_are_named(check, seed) -> None:
    script = seed["tests/test.sh"].replace("unit paid::rows cmp", "unit paid::rows true")
    files = ending({**seed, "tests/test.sh": script}, "echo 0.5 > /logs/verifier/reward.txt")
    verdict = await check(NoopGate(), files)
    assert "test units that pass without any work:\n  paid::rows" in verdict.evidence
    assert "totals::sums" not in verdict.evidence


async def test_a_verifier_that_waits_for_work_that_nobody_does(check, seed) -> None:
    toml = seed["task.toml"].replace("[verifier]\ntimeout_sec = 60", "[verifier]\ntimeout_sec = 0.5")
    waiting = "#!/bin/bash\nuntil [ -e /app/out/totals.txt ]; do sleep 0.1; done\n"
    verdict = await check(NoopGate(), {**seed, "task.toml": toml, "tests/test.sh": waiting})
    assert verdict.code == "noop/timed-out"
    assert "[verifier] timeout_sec" in verdict.evidence
