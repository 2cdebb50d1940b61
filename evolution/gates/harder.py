"""Gate `harder`: what the plan added is needed, and the parent's solution does not get by without it.

Every check runs a solution that ought to fail in the child and looks at what it earns. A seed passes: it has no parent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from evolution.gates import adversaries
from evolution.gates.outcomes import accepted, account, invalid, listed
from evolution.gates.renaming import contract_text, copies, renamings, shipped_names
from evolution.gates.trials import fresh_reference, together
from sandbox.task.reference import solved_steps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evolution.plan import Plan
    from evolution.verdict import Candidate, Verdict
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task
    from sandbox.trial.result import TrialResult
    from sandbox.verification.ctrf import Unit


class HarderGate:
    """Proves that the edited steps are work that nobody gets around; looks in the order of `codes`."""

    name: Final = "harder"
    stage: Final = 3
    codes: ClassVar[Mapping[str, str]] = {
        "missing-section": "the solution has no section for an edited step",
        "no-reward": "the verifier gives an incomplete solution no reward instead of a low one",
        "parent-solution-passes": "the parent's solution earns 1 in the child",
        "copied-output-passes": "the parent's solution earns 1 once its outputs are copied to the child's new paths",
        "renamed-output-passes": "the parent's solution earns 1 once the child's new names are put into it",
        "step-not-needed": "the solution earns 1 without the section of an edited step",
        "no-own-unit": "no test unit is named after an edited step",
        "own-unit-passes": "all of an edited step's units pass without its section",
        "nothing-depends": "an inserted step is left out, and no unit of a later step fails",
    }

    async def check(self, candidate: Candidate, sandboxes: Sandboxes) -> Verdict:
        """Judges the candidate; raises what a sandbox raises."""
        task, parent, plan = candidate.task, candidate.parent, candidate.plan
        if parent is None or plan is None:
            return accepted(self.name)
        solved = solved_steps(task)
        missing = [step.id for step in plan.edited_steps if step.id not in solved]
        if missing:
            return invalid(self.name, "missing-section", _say_missing(missing, solved))
        problem = await parent_problem(task, parent, sandboxes) or await steps_problem(task, plan, sandboxes)
        return invalid(self.name, *problem) if problem else accepted(self.name)


async def parent_problem(task: Task, parent: Task, sandboxes: Sandboxes) -> tuple[str, str] | None:
    """How the parent's solution gets by in the child: code and evidence; `None` when it does not."""
    before, after = contract_text(parent), contract_text(task)
    shipped = shipped_names(parent, task)
    ways_to_copy, ways_to_rename = copies(before, after, shipped), renamings(before, after, shipped)
    plain, copied = await adversaries.as_it_is_and_copied(task, parent, ways_to_copy, sandboxes)
    if plain.score is None:
        return (
            "no-reward",
            f"the verifier gives the parent's solution no reward, it has to be a low one\n{account(plain)}",
        )
    if plain.score >= 1:
        return "parent-solution-passes", "the parent's solution, as it is, earns 1 in the child: nothing became harder"
    for pairs, score in zip(ways_to_copy, copied, strict=True):
        if score is not None and score >= 1:
            said = f"the parent's solution earns 1 once files are copied: {_arrows(pairs)}"
            return (
                "copied-output-passes",
                f"{said}\nthe new output has to take new work, not hold what an old file holds",
            )
    for names, score in zip(
        ways_to_rename, await adversaries.renamed(task, parent, ways_to_rename, sandboxes), strict=True
    ):
        if score is not None and score >= 1:
            said = f"the parent's solution earns 1 with names replaced in it: {_arrows(names.items())}"
            return "renamed-output-passes", f"{said}\nanother name for the same output is not harder"
    return None


async def steps_problem(task: Task, plan: Plan, sandboxes: Sandboxes) -> tuple[str, str] | None:
    """Which edited step is not needed: code and evidence; `None` when all are."""
    results = await together([fresh_reference(task, sandboxes, without={step.id}) for step in plan.edited_steps])
    for position, result in zip(plan.edited_positions, results, strict=True):
        problem = step_problem(plan, position, result)
        if problem:
            return problem
    return None


def step_problem(plan: Plan, position: int, result: TrialResult) -> tuple[str, str] | None:
    """What a run without the section of one edited step gives away: code and evidence; `None` when all is well."""
    ids = plan.after.ids
    step = ids[position]
    without = f"without the section of step {step}"
    if result.score is None:
        return "no-reward", f"{without} the verifier gives no reward, it has to be a low one\n{account(result)}"
    if result.score >= 1:
        return "step-not-needed", f"{without} the reference solution still earns 1: nothing tests what the step does"
    own = [unit for unit in result.units if step_of(unit) == step]
    if not own:
        names = ", ".join(unit.name for unit in result.units) or "none at all"
        return "no-own-unit", (
            f"{without} no test unit of the step is reported; /logs/verifier/ctrf.json has to name one {step}::<unit>, "
            f"also when it fails; reported: {names}"
        )
    if all(unit.passed for unit in own):
        return "own-unit-passes", f"{without} every test unit of the step still passes:\n{listed(own)}"
    is_inserted = step not in plan.before.ids
    later = [unit for unit in result.units if step_of(unit) not in ids[: position + 1]]
    if is_inserted and step != ids[-1] and later and all(unit.passed for unit in later):
        return "nothing-depends", (
            f"{without} every test unit of the steps after it still passes, none builds on it:\n{listed(later)}"
        )
    return None


def step_of(unit: Unit) -> str:
    """The id of the step a unit is named after; the whole name where it names none."""
    return unit.name.partition("::")[0]


def _say_missing(missing: list[str], solved: tuple[str, ...]) -> str:
    there = ", ".join(solved) or "none"
    lines = "\n".join(f"  # envolve: step {name}" for name in missing)
    return (
        f"solution/solve.sh has no section for these edited steps (it has: {there}); start each with its line:\n{lines}"
    )


def _arrows(pairs: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{old} -> {new}" for old, new in pairs)
