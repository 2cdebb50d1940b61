"""What differs between runs is flakiness, what differs under other conditions has a name, what verifying leaves too."""

from __future__ import annotations

import platform
from datetime import UTC, datetime

import pytest

from evolution.gates.rerun import RerunGate, difference
from evolution.gates.settings import GateSettings
from sandbox.perturbing import NAMES
from sandbox.trial.result import StepResult, trial_result
from sandbox.verification.ctrf import Unit
from sandbox.verification.reward import Reward
from sandbox.verification.verify import Verification

pytestmark = pytest.mark.slow  # each test starts many sandboxes


FLIP = "$(( $(od -An -N4 -tu4 /dev/urandom) % 2 ))"
YEAR = f'[ "$(date -u +%Y)" = {datetime.now(UTC).year} ]'
LISTED = """import os, tempfile
folder = tempfile.mkdtemp()
[open(f"{folder}/{name}", "w").close() for name in "cadbe"]
assert os.popen(f"ls -U {folder}").read().split() == os.listdir(folder)
"""
CASES = """import unittest
class Cases(unittest.TestCase):
    seen = []
    def test_a(self): self.seen.append(1)
    def test_b(self): self.assertTrue(self.seen)
"""


def failing_unless(files: dict, condition: str, **more: str) -> dict:
    """The files, with tests that give 0 unless a condition of Bash holds."""
    script = files["tests/test.sh"].replace("\nexit 0", f"\n{condition} || echo 0 > /logs/verifier/reward.txt\nexit 0")
    return {**files, "tests/test.sh": script, **{f"tests/{name}.py": text for name, text in more.items()}}


async def test_sound_tasks_pass_with_few_runs(check, seed, child) -> None:
    for files, gate, runs in ((seed, RerunGate(), 4), (child, RerunGate(runs=2), 2)):
        verdict = await check(gate, files)
        assert verdict.passed, verdict.evidence
        assert verdict.measured["runs"] == runs
        assert verdict.measured["flakiness_bound"] <= 0.1
        assert verdict.measured["signs"] == 0
        assert verdict.measured["conditions"] + verdict.measured["conditions_missing"] >= 8
        assert len(verdict.findings) == verdict.measured["conditions_missing"]
        assert all(finding.suppressed for finding in verdict.findings)


@pytest.mark.parametrize(
    ("name", "condition", "more"),
    [
        ("clock", YEAR, {}),
        ("host-name", '[ "$(uname -n)" = sandbox ]', {}),
        ("locale", "locale | grep -q 'LC_COLLATE=.*C.UTF-8'", {}),
        ("time-zone", '[ "$(date +%z)" = +0000 ]', {}),
        ("cpus", '[ "$(nproc)" -gt 1 ]', {}),
        ("hash-seed", '[ -z "${PYTHONHASHSEED-}" ]', {}),
        ("umask", '[ "$(umask)" = 0022 ]', {}),
        ("machine", f'[ "$(uname -m)" = {platform.machine()} ]', {}),
        ("open-files", '[ "$(ulimit -n)" -ge 1000 ]', {}),
        ("many-cpus", "python3 -c 'import os; assert os.cpu_count() < 20'", {}),
        ("memory", "python3 -c 'import os; assert os.sysconf(\"SC_PHYS_PAGES\") > 150_000'", {}),
        ("temporary-folder", '[ "$(dirname "$(mktemp)")" = /tmp ]', {}),
        ("folder-order", "python3 /tests/listed.py", {"listed": LISTED}),
        ("test-order", "(cd /tests && python3 -m unittest -q cases)", {"cases": CASES}),
        ("conditions", '{ [ "$(umask)" = 0022 ] || [ "$(date +%z)" = +0000 ]; }', {}),
    ],
)
async def test_the_culprit_has_a_name(check, seed, name, condition, more) -> None:
    verdict = await check(RerunGate(runs=2), failing_unless(seed, condition, **more))
    assert verdict.code == f"rerun/{name}", verdict.evidence
    assert verdict.evidence.startswith("where")
    assert "run by run: 1, 0" in verdict.evidence
    assert str(datetime.now(UTC).year) not in verdict.evidence


def test_every_condition_has_a_code() -> None:
    assert set(NAMES) <= set(RerunGate.codes)


async def test_nothing_done_that_passes_at_another_date(check, seed) -> None:
    script = seed["tests/test.sh"].replace("\nexit 0", f"\n{YEAR} || echo 1 > /logs/verifier/reward.txt\nexit 0")
    verdict = await check(RerunGate(), {**seed, "tests/test.sh": script})
    assert verdict.code == "rerun/clock"
    assert "doing nothing is not refused any more" in verdict.evidence


async def test_a_new_file_under_another_clock_is_no_fault(check, seed) -> None:
    verdict = await check(
        RerunGate(runs=2),
        failing_unless(seed, '[ "$(find /app -name none -o -mmin -30 -type f)" ] || [ ! -e /app/out/paid.csv ]'),
    )
    assert verdict.passed, verdict.evidence


async def test_a_reward_of_chance(check, seed) -> None:
    verdict = await check(RerunGate(), failing_unless(seed, f"[ {FLIP} = 0 ]"))
    assert verdict.code in {"rerun/reward-differs", "rerun/verify-again"}  # whichever chance strikes first
    assert "chance: tests/test.sh:" in verdict.evidence


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


async def test_tests_that_use_up_what_they_look_at(check, seed) -> None:
    verdict = await check(RerunGate(), failing_unless(seed, "{ [ ! -e /app/out/seen ] && touch /app/out/seen; }"))
    assert verdict.code == "rerun/verify-again"
    assert "nothing was done between two verifications" in verdict.evidence
    assert "1, 0" in verdict.evidence


async def test_tests_that_leave_something_for_the_next_ones(check, seed) -> None:
    condition = "{ [ ! -e /app/was-here ]; }; [ -e /app/out/paid.csv ] || touch /app/was-here; [ ! -e /app/was-here ]"
    verdict = await check(RerunGate(), failing_unless(seed, condition))
    assert verdict.code == "rerun/after-noop"
    assert "where doing nothing was verified before" in verdict.evidence


async def test_as_many_runs_as_the_settings_say(check, seed) -> None:
    gate = RerunGate.configured(GateSettings(reruns=5), None)
    verdict = await check(gate, seed)
    assert verdict.passed, verdict.evidence
    assert verdict.measured["runs"] == 5


async def test_signs_make_it_run_more_often(check, seed) -> None:
    files = {**seed, "solution/solve.sh": seed["solution/solve.sh"] + "echo $RANDOM > /dev/null\n"}
    verdict = await check(RerunGate(settings=GateSettings(most_reruns=9)), files)
    assert verdict.passed, verdict.evidence
    assert verdict.measured["runs"] == 9
    assert verdict.measured["signs"] == 1
    assert verdict.measured["flakiness_bound"] > 0.1


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
