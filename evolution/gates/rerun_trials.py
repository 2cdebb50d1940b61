"""The trials of gate `rerun`, and how their outcomes differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evolution.gates.noop import noop_problem
from evolution.gates.outcomes import account
from sandbox.conditions import running_under
from sandbox.perturbing import Survey, survey
from sandbox.trial.result import TrialResult, trial_result
from sandbox.trial.steps import run_noop, run_reference
from sandbox.verification.ctrf import statuses
from sandbox.verification.verify import clear_verifier_folders, verify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.conditions import Condition
    from sandbox.protocol import Sandbox
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task

ABSENT: Final = "absent"

Problem = tuple[str, str]
"""The part of a code after the gate's name, and the evidence."""


@dataclass(frozen=True, slots=True)
class Round:
    """Nothing, then the reference solution, each verified.

    Attributes:
        noop: What doing nothing earned; `None` where that was not tried.
        reference: What the reference solution earned afterwards; in the same sandbox where the task has one step.
        again: The same, after its last step was verified once more; `None` where it was not.
        survey: What can be otherwise for the image's commands; `None` where nobody asked.
    """

    noop: TrialResult | None
    reference: TrialResult
    again: TrialResult | None = None
    survey: Survey | None = None


async def plain_round(task: Task, sandboxes: Sandboxes, known: Survey | None, *, test_cases: bool) -> Round:
    """A round under the usual conditions that verifies twice at the end.

    Args:
        task: The task.
        sandboxes: Where.
        known: What can be otherwise for the image's commands; it is looked at when left out.
        test_cases: Whether the tests are cases of pytest or unittest.
    """

    async def solved(sandbox: Sandbox) -> Round:
        reference = await run_reference(task, sandbox)
        again = await _again(task, sandbox, reference)
        return Round(noop, reference, again, known or await survey(sandbox, test_cases=test_cases))

    async with sandboxes.running(task) as sandbox:
        noop = await _nothing(task, sandbox)
        if not task.is_multi_step:
            return await solved(sandbox)
    async with sandboxes.running(task) as sandbox:
        return await solved(sandbox)


async def round_under(
    task: Task, sandboxes: Sandboxes, conditions: Sequence[Condition], *, noop_too: bool = True
) -> Round:
    """A round under other conditions, with or without the no-op before it."""
    if not noop_too:
        async with running_under(sandboxes, task, conditions) as sandbox:
            return Round(None, await run_reference(task, sandbox))
    async with running_under(sandboxes, task, conditions) as sandbox:
        noop = await _nothing(task, sandbox)
        if not task.is_multi_step:
            return Round(noop, await run_reference(task, sandbox))
    async with running_under(sandboxes, task, conditions) as sandbox:
        return Round(noop, await run_reference(task, sandbox))


async def _nothing(task: Task, sandbox: Sandbox) -> TrialResult:
    noop = await run_noop(task, sandbox)
    await clear_verifier_folders(sandbox)  # whoever solves it must not find the tests
    return noop


async def _again(task: Task, sandbox: Sandbox, reference: TrialResult) -> TrialResult | None:
    """The trial with its last step verified once more; `None` where it did not come to the end."""
    last = reference.steps[-1] if reference.steps else None
    if last is None or last.verification is None or len(reference.steps) != len(task.steps):
        return None
    verification = await verify(task, sandbox, step=task.steps[-1])
    steps = [*reference.steps[:-1], type(last)(last.name, last.solution, verification)]
    return trial_result(reference.agent, steps, task.config.multi_step_reward_strategy)


def difference(results: Sequence[TrialResult], labels: Sequence[str] = ()) -> Problem | None:
    """How runs of a passing reference solution differ; `None` when all are alike and earn 1.

    Args:
        results: The runs.
        labels: What to call each; "run 1 of 3" and so on when left out.
    """
    names = labels or [f"run {number} of {len(results)}" for number in range(1, len(results) + 1)]
    for name, result in zip(names, results, strict=True):
        if result.score is None:
            return "no-reward", f"{name} of the reference solution: {account(result)}"
    shown, differing, absent = _differing(results, names)
    scores = [result.score for result in results]
    if any(score != 1 for score in scores):
        said = ", ".join(f"{score:g}" for score in scores if score is not None)
        at, worst = next((name, result) for name, result in zip(names, results, strict=True) if result.score != 1)
        return "reward-differs", f"the reference solution earned, run by run: {said}{shown}\n{at}: {account(worst)}"
    if absent:
        return "units-differ", f"the test units are not the same in every run{shown}"
    if differing:
        return "unit-differs", f"the reward is 1 each time, but{shown}"
    return None


def _differing(results: Sequence[TrialResult], names: Sequence[str]) -> tuple[str, bool, bool]:
    """The units that differ, as text; whether there are any; and whether one is missing somewhere."""
    units = [statuses(result.units) for result in results]
    rows = {
        name: [found.get(name, ABSENT) for found in units] for name in sorted({n for found in units for n in found})
    }
    differing = {name: row for name, row in rows.items() if len(set(row)) > 1}
    if not differing:
        return "", False, False
    head = f"test units that differ ({', '.join(names)}):"
    lines = [head, *(f"  {name}: {', '.join(row)}" for name, row in differing.items())]
    return "\n" + "\n".join(lines), True, any(ABSENT in row for row in differing.values())


def problem_under(task: Task, plain: TrialResult, found: Round) -> str:
    """What is otherwise in a round under other conditions than in a plain run; "" when nothing is."""
    noop = found.noop and noop_problem(task, found.noop)
    if noop:
        return f"doing nothing is not refused any more: {noop[1]}"
    differs = difference([plain, found.reference], ["as usual", "so"])
    return differs[1] if differs else ""
