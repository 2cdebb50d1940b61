"""Weak verifiers do not notice a broken solution; sound ones do."""

from __future__ import annotations

import pytest

from evolution.gates import mutation_state
from evolution.gates.mutation import MutationGate
from evolution.gates.settings import GateSettings
from sandbox.errors import TransferError

pytestmark = pytest.mark.slow  # each test starts many sandboxes or processes


PAID, TOTALS = "/app/out/paid.csv", "/app/out/totals.txt"


def judged_by(files: dict, *commands: str) -> dict:
    """The task with other tests: all of the commands have to succeed."""
    script = "#!/bin/bash\nmkdir -p /logs/verifier\nok=1\n" + "".join(f"{c} || ok=0\n" for c in commands)
    return {**files, "tests/test.sh": f"{script}echo $ok > /logs/verifier/reward.txt\n"}


def same(path: str) -> str:
    return f"cmp {path} /tests/expected/{path.rsplit('/', 1)[1]}"


async def test_sound_tasks_pass(check, seed, child) -> None:
    for files in (seed, child):
        verdict = await check(MutationGate(), files)
        assert verdict.passed, verdict.evidence
        assert verdict.measured["mutants"] >= 8
        assert verdict.measured["share"] >= 0.8


@pytest.mark.parametrize(
    "commands",
    [
        pytest.param([f"test -e {PAID}", f"test -e {TOTALS}"], id="existence"),
        pytest.param([f"test -s {PAID}", f"test -s {TOTALS}"], id="not-empty"),
        pytest.param([f'test "$(wc -l < {path})" = {n}' for path, n in ((PAID, 5), (TOTALS, 3))], id="number-of-lines"),
        pytest.param(
            [f"cmp <(head -n 1 {p}) <(head -n 1 /tests/expected/{p[9:]})" for p in (PAID, TOTALS)], id="first-line"
        ),
        pytest.param([same(PAID)], id="a-unit-dropped"),
        pytest.param([same(PAID), f"{same(TOTALS)} || true"], id="or-true"),
        pytest.param([same(PAID), f"cmp {TOTALS} {TOTALS}"], id="with-itself"),
        pytest.param(
            [same(TOTALS), f"cmp <(cut -d, -f1,3 {PAID}) <(cut -d, -f1,3 /tests/expected/paid.csv)"], id="column"
        ),
    ],
)
async def test_weak_verifiers_are_found(check, seed, commands: list[str]) -> None:
    verdict = await check(MutationGate(), judged_by(seed, *commands))
    assert not verdict.passed, verdict.measured
    assert verdict.code in {"mutation/unchecked", "mutation/unnoticed"}


async def test_what_is_not_looked_at_is_named(check, seed) -> None:
    verdict = await check(MutationGate(), judged_by(seed, same(PAID)))
    unchecked = [one.where for one in verdict.findings if one.code == "mutation/unchecked"]
    assert (verdict.code, unchecked) == ("mutation/unchecked", [TOTALS])


async def test_unnoticed_mutants_are_shown_as_diffs_and_the_same_each_time(check, seed) -> None:
    files = judged_by(seed, f"test -s {PAID}")
    gate = MutationGate(GateSettings(least_noticed=1))
    first, second = await check(gate, files), await check(gate, files)
    assert first.evidence == second.evidence
    shown = [one for one in first.findings if one.code == "mutation/unnoticed"]
    assert any(one.where.startswith("solution/solve.sh:") and "its outputs differ" in one.message for one in shown)
    assert any("-1,customer-1,10" in one.message or "customer-" in one.message for one in shown)


async def test_a_reference_that_fails(check, seed) -> None:
    verdict = await check(MutationGate(), judged_by(seed, "false"))
    assert verdict.code == "mutation/reference-fails"


async def test_a_script_change_that_changes_no_output_does_not_count(check, seed) -> None:
    idle = "seq 3 | sort -n | head -n 2 > /tmp/idle\n" * 20
    files = {**seed, "solution/solve.sh": f"{seed['solution/solve.sh']}{idle}"}
    verdict = await check(MutationGate(), files)
    assert verdict.passed, verdict.evidence
    assert verdict.measured["equivalent"] > 0


@pytest.mark.parametrize(("looked_at", "code"), [("-rwxr-x---", ""), (".*", "mutation/unnoticed")])
async def test_modes_are_outputs(check, seed, looked_at: str, code: str) -> None:
    files = judged_by(seed, f"ls -l /app/data/orders.csv | grep -q '^{looked_at}'")
    files["instruction.md"] = "Give /app/data/orders.csv the mode 750.\n"
    files["solution/solve.sh"] = "#!/bin/bash\nchmod 750 /app/data/orders.csv\n"
    verdict = await check(MutationGate(), files)
    assert verdict.code == code, verdict.measured


async def test_programs_are_broken_in_their_code(check, seed) -> None:
    program = (
        "import sys\n\nlimit = 5\nfor line in sys.stdin:\n    if int(line) > limit:\n        print(int(line) + 1)\n"
    )
    files = judged_by(seed, "test \"$(printf '4\\n5\\n6\\n9\\n' | python3 /app/above.py | tr '\\n' ' ')\" = '7 10 '")
    files["instruction.md"] = "Write /app/above.py: numbers above 5 on standard input, each plus one, are printed.\n"
    files["solution/solve.sh"] = f"#!/bin/bash\ncat > /app/above.py <<'PY'\n{program}PY\n"
    verdict = await check(MutationGate(), files)
    assert verdict.passed, verdict.evidence
    assert verdict.measured["share"] >= 0.7


@pytest.mark.parametrize(("last", "passes"), [("cmp /app/b.txt /tests/b.txt", True), ("test -s /app/b.txt", False)])
async def test_steps_are_judged_with_what_follows(write, check, seed, last: str, passes: bool) -> None:
    toml = seed["task.toml"] + '\n[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n'
    numbers = "".join(f"{n}\n" for n in range(3, 9))
    judge = "#!/bin/bash\nmkdir -p /logs/verifier\n{} && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n"
    files = {
        "task.toml": 'multi_step_reward_strategy = "final"\n' + toml,
        "environment/Dockerfile": "FROM python:3.12-bookworm\nWORKDIR /app\n",
        "steps/one/instruction.md": "Write the numbers from 3 to 8 to /app/a.txt, one a line.\n",
        "steps/one/solution/solve.sh": "#!/bin/bash\nseq 3 8 > /app/a.txt\n",
        "steps/one/tests/test.sh": judge.format("test -e /app/a.txt"),
        "steps/two/instruction.md": "Write the numbers of /app/a.txt, the greatest first, to /app/b.txt.\n",
        "steps/two/solution/solve.sh": "#!/bin/bash\nsort -rn /app/a.txt > /app/b.txt\n",
        "steps/two/tests/test.sh": judge.format(last),
        "steps/two/tests/b.txt": "".join(reversed(numbers.splitlines(keepends=True))),
    }
    verdict = await check(MutationGate(), files)
    assert verdict.passed is passes, (verdict.measured, verdict.evidence)


async def test_too_much_to_look_at_is_told(monkeypatch, check, seed) -> None:
    monkeypatch.setattr(mutation_state, "MAX_BYTES", 100)
    verdict = await check(MutationGate(), seed)
    assert verdict.passed
    assert [(one.code, bool(one.suppressed)) for one in verdict.findings] == [("mutation/too-large", True)]


async def test_an_engine_that_fails_is_no_reason_to_accept(monkeypatch, check, seed) -> None:
    async def fails(*_: object) -> None:
        raise TransferError("/app/out: the archive that the engine made of it breaks off: EOF")

    monkeypatch.setattr("evolution.gates.mutation_runs.read_state", fails)
    with pytest.raises(TransferError):
        await check(MutationGate(), seed)


@pytest.mark.parametrize("lines", [200, 20_000])
async def test_a_broken_solution_may_leave_too_much(monkeypatch, check, seed, lines: int) -> None:
    """Only what the reference leaves has to fit."""
    monkeypatch.setattr(mutation_state, "MAX_BYTES", 60_000)
    files = judged_by(seed, "test $(wc -l < /app/out/n) = 3")
    files["instruction.md"] = "Write the numbers from 1 to 3 to /app/out/n.\n"
    files["solution/solve.sh"] = f"#!/bin/bash\nmkdir -p /app/out\nseq {lines} | head -n 3 > /app/out/n\n"
    verdict = await check(MutationGate(), files)
    assert verdict.measured["mutants"] > 1
