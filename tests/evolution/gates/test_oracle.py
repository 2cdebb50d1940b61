"""The reference solution has to earn exactly 1."""

from __future__ import annotations

import pytest

from evolution.gates.oracle import OracleGate
from evolution.verdict import VerdictClass


async def test_sound_tasks_pass(check, seed, child) -> None:
    for files in (seed, child):
        verdict = await check(OracleGate(), files)
        assert verdict.passed, verdict.evidence


async def test_a_wrong_solution_with_its_units_and_the_end_of_its_errors(check, seed) -> None:
    script = seed["solution/solve.sh"].replace("| sort", "| sort --no-such-option")
    verdict = await check(OracleGate(), {**seed, "solution/solve.sh": script})
    assert (verdict.verdict_class, verdict.code) == (VerdictClass.INVALID, "oracle/below-one")
    assert "reward 0" in verdict.evidence
    assert "totals::sums: failed - see totals::sums" in verdict.evidence
    assert "paid::rows" not in verdict.evidence
    assert "no-such-option" in verdict.evidence


async def test_evidence_is_the_same_each_time(check, seed) -> None:
    noisy = "echo $$ pid=$$ >&2; date +%T >&2; bash -c 'kill -SEGV $$'; mktemp >&2; exit 4\n"
    files = {**seed, "solution/solve.sh": f"#!/bin/bash\n{noisy}".replace("echo $$ ", "echo ")}
    first, second = await check(OracleGate(), files), await check(OracleGate(), files)
    assert first.evidence == second.evidence
    assert "ended with status 4" in first.evidence


async def test_no_solution(check, seed) -> None:
    del seed["solution/solve.sh"]
    verdict = await check(OracleGate(), seed)
    assert verdict.code == "oracle/no-solution"


@pytest.mark.parametrize(
    ("last", "code", "said"),
    [
        ("rm /logs/verifier/reward.txt", "no-reward", "missing"),
        ("echo one > /logs/verifier/reward.txt", "no-reward", "b'one\\n'"),
        ("echo 1.5 > /logs/verifier/reward.txt", "out-of-range", "reward 1.5"),
        ("echo -1 > /logs/verifier/reward.txt", "out-of-range", "reward -1"),
        ("echo 0.75 > /logs/verifier/reward.txt", "below-one", "reward 0.75"),
        ('echo \'{"a": 1, "b": 1}\' > /logs/verifier/reward.json', "no-reward", "a, b"),
    ],
)
async def test_rewards_other_than_one(check, seed, last: str, code: str, said: str) -> None:
    script = seed["tests/test.sh"].replace("\nexit 0", f"\n{last}\nexit 0")
    verdict = await check(OracleGate(), {**seed, "tests/test.sh": script})
    assert verdict.code == f"oracle/{code}"
    assert said in verdict.evidence


async def test_a_reward_of_one_beside_a_failed_unit(check, seed) -> None:
    script = (
        seed["tests/test.sh"]
        .replace('[ "$failed" = 0 ] &&', "")
        .replace("unit paid::rows cmp", "unit paid::rows false")
    )
    verdict = await check(OracleGate(), {**seed, "tests/test.sh": script})
    assert verdict.code == "oracle/failing-unit"
    assert "paid::rows" in verdict.evidence


async def test_a_solution_that_runs_out_of_time(check, seed) -> None:
    toml = seed["task.toml"].replace("[agent]\ntimeout_sec = 60", "[agent]\ntimeout_sec = 0.5")
    files = {**seed, "task.toml": toml, "solution/solve.sh": "#!/bin/bash\nsleep 60\n"}
    verdict = await check(OracleGate(), files)
    assert verdict.code == "oracle/timed-out"
    assert "[agent] timeout_sec" in verdict.evidence


async def test_a_verifier_that_hangs(check, seed) -> None:
    toml = seed["task.toml"].replace("[verifier]\ntimeout_sec = 60", "[verifier]\ntimeout_sec = 0.5")
    files = {**seed, "task.toml": toml, "tests/test.sh": "#!/bin/bash\necho waiting for the service\nsleep 60\n"}
    verdict = await check(OracleGate(), files)
    assert verdict.code == "oracle/timed-out"
    assert "[verifier] timeout_sec" in verdict.evidence
    assert "waiting for the service" in verdict.evidence


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("no-such-sorter /app/out/paid.csv", "no-such-sorter"),
        ("sh -c 'no-such-sorter x'", "no-such-sorter"),
        ("/usr/bin/env no-such-sorter x", "no-such-sorter"),
        ("python3 -c 'import no_such_module'", "no_such_module (a Python module)"),
    ],
)
async def test_what_the_solution_calls_and_is_not_there_is_named(check, seed, line: str, named: str) -> None:
    verdict = await check(OracleGate(), {**seed, "solution/solve.sh": f"#!/bin/bash\n{line}\n"})
    assert verdict.code == "oracle/missing-command"
    assert f"{named}: not there for the solution" in verdict.evidence


async def test_what_the_verifier_calls_and_is_not_there_is_named(check, seed) -> None:
    script = seed["tests/test.sh"].replace("failed=0\n", "failed=0\nno-such-judge || failed=1\n", 1)
    verdict = await check(OracleGate(), {**seed, "tests/test.sh": script})
    assert verdict.code == "oracle/missing-command"
    assert "no-such-judge: not there for the verifier" in verdict.evidence


async def test_a_message_about_a_file_is_no_missing_command(check, seed) -> None:
    script = "#!/bin/bash\necho 'report.csv: not found'\n"
    assert (await check(OracleGate(), {**seed, "solution/solve.sh": script})).code == "oracle/below-one"


async def test_permissions_in_the_way_with_mode_and_owner(check, seed) -> None:
    files = {**seed, "solution/helper": "#!/bin/bash\nexit 0\n"}
    files["solution/solve.sh"] = "#!/bin/bash\nset -e\n/solution/helper\n" + seed["solution/solve.sh"]
    verdict = await check(OracleGate(), files)
    assert verdict.code == "oracle/permission-denied"
    assert "/solution/helper: Permission denied" in verdict.evidence
    assert "-rw-r--r--" in verdict.evidence


async def test_what_the_tests_print_is_shown_beside_failing_units(check, seed) -> None:
    printing = seed["tests/test.sh"].replace("\nexit 0", "\necho '> customer-1 41'\nexit 0")
    solution = seed["solution/solve.sh"].replace("| sort", "| sort -r")
    verdict = await check(OracleGate(), {**seed, "tests/test.sh": printing, "solution/solve.sh": solution})
    assert verdict.code == "oracle/below-one"
    assert "> customer-1 41" in verdict.evidence
