"""A child whose new step is no work, or can be got around, is found out."""

from __future__ import annotations

import pytest

from evolution.gates.harder import HarderGate, step_problem
from evolution.plan import Axis, Effort, Plan
from evolution.sequence import Step
from evolution.verdict import VerdictClass
from sandbox.trial.result import StepResult, trial_result
from sandbox.verification.ctrf import Unit
from sandbox.verification.reward import Reward
from sandbox.verification.verify import Verification


async def test_a_seed_has_nothing_to_be_harder_than(only_files, seed) -> None:
    assert (await only_files(HarderGate(), seed)).passed


async def test_a_sound_child_passes(check, seed, child, plan) -> None:
    verdict = await check(HarderGate(), child, seed, plan)
    assert verdict.passed, verdict.evidence


async def refused(check, seed, child, plan, code: str) -> str:
    verdict = await check(HarderGate(), child, seed, plan)
    assert (verdict.verdict_class, verdict.code) == (VerdictClass.INVALID, f"harder/{code}"), verdict.evidence
    return verdict.evidence


async def test_no_section_for_the_new_step(check, seed, child, plan) -> None:
    script = child["solution/solve.sh"].replace("# envolve: step net", "# now the refunds")
    evidence = await refused(check, seed, {**child, "solution/solve.sh": script}, plan, "missing-section")
    assert "# envolve: step net" in evidence
    assert "it has: paid, totals" in evidence


async def test_a_child_that_only_says_more(check, seed, child, plan) -> None:
    """The instruction and the solution have a new step, the tests are the parent's."""
    files = {
        **child,
        "tests/test.sh": seed["tests/test.sh"],
        "tests/expected/totals.txt": seed["tests/expected/totals.txt"],
    }
    await refused(check, seed, files, plan, "parent-solution-passes")


async def test_a_new_output_that_is_an_old_one_under_another_name(check, seed, child, plan) -> None:
    script = child["solution/solve.sh"]
    section = script[script.index("# envolve: step net") : script.index("# envolve: step totals")]
    files = {
        **child,
        "solution/solve.sh": script.replace(section, "# envolve: step net\ncp /app/out/paid.csv /app/out/net.csv\n"),
        "tests/expected/net.csv": seed["tests/expected/paid.csv"],
        "tests/expected/totals.txt": seed["tests/expected/totals.txt"],
    }
    evidence = await refused(check, seed, files, plan, "copied-output-passes")
    assert "/app/out/paid.csv -> /app/out/net.csv" in evidence


@pytest.fixture
def skill_plan(plan) -> Plan:
    """A plan that replaces the skill of step `totals`."""
    after = plan.before.replace_skill(1, "median")
    return Plan(axis=Axis.SKILL, effort=Effort.LOW, before=plan.before, after=after)


async def test_an_output_by_another_name(check, seed, skill_plan) -> None:
    # The verifier wants the old name gone, so a copy beside it does not do; only the renamed solution shows the fault.
    files = {path: text.replace("totals.txt", "sums.txt") for path, text in seed.items()}
    files["tests/expected/sums.txt"] = seed["tests/expected/totals.txt"]
    files["tests/test.sh"] = files["tests/test.sh"].replace(
        "unit totals::sums cmp", "unit totals::files test 2 = $(ls /app/out | wc -l)\nunit totals::sums cmp"
    )
    evidence = await refused(check, seed, files, skill_plan, "renamed-output-passes")
    assert "/app/out/totals.txt -> /app/out/sums.txt" in evidence


async def test_a_moved_output(check, seed, skill_plan) -> None:
    files = {path: text.replace("/app/out", "/app/results") for path, text in seed.items()}
    evidence = await refused(check, seed, files, skill_plan, "copied-output-passes")
    assert "/app/results/totals.txt" in evidence


async def test_a_step_that_no_test_looks_at(check, seed, child, plan) -> None:
    """The totals are the net ones, but the solution works them out without the new step's section."""
    script = child["solution/solve.sh"]
    start, end = script.index("# envolve: step net"), script.index("# envolve: step totals")
    files = {
        **child,
        "solution/solve.sh": script[:start]
        + "# envolve: step net\ntrue\n"
        + script[end:].replace(
            "# envolve: step totals\n", "# envolve: step totals\n" + script[start:end].partition("\n")[2]
        ),
    }
    await refused(check, seed, files, plan, "step-not-needed")


async def test_no_unit_for_the_new_step(check, seed, child, plan) -> None:
    script = child["tests/test.sh"].replace("unit net::rows", "unit other::rows")
    evidence = await refused(check, seed, {**child, "tests/test.sh": script}, plan, "no-own-unit")
    assert "net::<unit>" in evidence
    assert "paid::rows, other::rows, totals::sums" in evidence


async def test_a_unit_for_the_new_step_that_always_passes(check, seed, child, plan) -> None:
    script = child["tests/test.sh"].replace("unit net::rows cmp", "unit net::rows true")
    evidence = await refused(check, seed, {**child, "tests/test.sh": script}, plan, "own-unit-passes")
    assert "net::rows: passed" in evidence


async def test_a_new_step_that_nothing_builds_on(check, seed, child, plan) -> None:
    files = {
        **child,
        "solution/solve.sh": child["solution/solve.sh"].replace("/app/out/net.csv | sort", "/app/out/paid.csv | sort"),
        "tests/expected/totals.txt": seed["tests/expected/totals.txt"],
    }
    evidence = await refused(check, seed, files, plan, "nothing-depends")
    assert "totals::sums: passed" in evidence


async def test_a_new_step_at_the_end_needs_nothing_after_it(check, seed, child, plan) -> None:
    step = Step(id="net", scenario="refunds", skill="join")
    at_the_end = Plan(axis=Axis.LENGTH, effort=Effort.LOW, before=plan.before, after=plan.before.insert(2, (step,)))
    script = child["solution/solve.sh"].replace("/app/out/net.csv | sort", "/app/out/paid.csv | sort")
    start, end = script.index("# envolve: step net"), script.index("# envolve: step totals")
    lines = child["tests/test.sh"].split("\n")
    net = next(line for line in lines if line.startswith("unit net::"))
    lines.remove(net)
    lines.insert(next(i for i, line in enumerate(lines) if line.startswith("unit totals::")) + 1, net)
    files = {
        **child,
        "solution/solve.sh": script[:start] + script[end:] + script[start:end],
        "tests/test.sh": "\n".join(lines),
        "tests/expected/totals.txt": seed["tests/expected/totals.txt"],
    }
    verdict = await check(HarderGate(), files, seed, at_the_end)
    assert verdict.passed, verdict.evidence


async def test_a_verifier_that_breaks_on_incomplete_work(check, seed, child, plan) -> None:
    script = child["tests/test.sh"].replace(
        "\nexit 0", "\n[ -e /app/out/net.csv ] || rm /logs/verifier/reward.txt\nexit 0"
    )
    evidence = await refused(check, seed, {**child, "tests/test.sh": script}, plan, "no-reward")
    assert "missing" in evidence


async def test_a_parent_that_knows_neither_sections_nor_units(check, seed, child, plan) -> None:
    foreign = {
        **seed,
        "solution/solve.sh": "".join(
            line for line in seed["solution/solve.sh"].splitlines(keepends=True) if "envolve" not in line
        ),
        "tests/test.sh": "#!/bin/bash\ncmp /app/out/totals.txt /tests/expected/totals.txt\n"
        "echo $(( ! $? )) > /logs/verifier/reward.txt\n",
    }
    verdict = await check(HarderGate(), child, foreign, plan)
    assert verdict.passed, verdict.evidence


def run_of(score: float, **units: str):
    found = tuple(Unit(name.replace("__", "::"), status) for name, status in units.items())
    return trial_result(
        "oracle", [StepResult("main", None, Verification("main", Reward({"reward": score}), units=found))], None
    )


@pytest.mark.parametrize(
    ("position", "units", "code"),
    [
        (1, {"net__a": "failed", "totals__a": "failed"}, None),
        (1, {"net__a": "skipped", "totals__a": "skipped"}, None),
        (1, {"net__a": "failed", "net__b": "passed", "totals__a": "failed"}, None),
        (1, {"net__a": "failed", "paid__a": "failed", "totals__a": "passed"}, "nothing-depends"),
        # Units of a foreign parent are named after no step; those count as later ones.
        (1, {"net__a": "failed", "test_sums": "passed"}, "nothing-depends"),
        (1, {"net__a": "failed"}, None),
        # The last step has nothing after it, whatever other units there are.
        (2, {"totals__a": "failed", "test_rows": "passed"}, None),
        (2, {"totals__a": "passed", "net__a": "failed"}, "own-unit-passes"),
        (1, {"totals__a": "failed"}, "no-own-unit"),
        (1, {}, "no-own-unit"),
    ],
)
def test_what_a_run_without_a_step_gives_away(plan, position: int, units: dict, code: str | None) -> None:
    before = plan.before.model_copy(update={"steps": plan.before.steps[:1]})
    after = plan.after
    longer = Plan(axis=Axis.LENGTH, effort=Effort.HIGH, before=before, after=after)
    found = step_problem(longer, position, run_of(0, **units))
    assert (found and found[0]) == code
    assert step_problem(longer, position, run_of(1, **units))[0] == "step-not-needed"
