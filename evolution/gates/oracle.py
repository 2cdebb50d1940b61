"""Gate `oracle`: the reference solution earns a reward of exactly 1 in a fresh sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evolution.gates.outcomes import accepted, account, invalid, listed
from evolution.gates.trials import fresh_reference
from sandbox.task.reference import solution_folder

if TYPE_CHECKING:
    from evolution.verdict import Candidate, Verdict
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task
    from sandbox.trial.result import TrialResult


class OracleGate:
    """Runs the reference solution once.

    Codes: `oracle/no-solution`, `oracle/no-reward`, `oracle/out-of-range`, `oracle/below-one`,
    `oracle/failing-unit` (the reward is 1 although a unit failed: reward and units disagree).
    """

    name: Final = "oracle"
    stage: Final = 2

    async def check(self, candidate: Candidate, sandboxes: Sandboxes) -> Verdict:
        """Judges the candidate; raises what a sandbox raises."""
        missing = _steps_without_solution(candidate.task)
        if missing:
            return invalid(
                self.name, "no-solution", f"there is no {missing}: nothing shows that the task can be solved"
            )
        result = await fresh_reference(candidate.task, sandboxes)
        problem = oracle_problem(result)
        return invalid(self.name, *problem) if problem else accepted(self.name)


def oracle_problem(result: TrialResult) -> tuple[str, str] | None:
    """What keeps a run of the reference solution from being a pass: code and evidence; `None` when it is one."""
    score = result.score
    if score is None:
        return "no-reward", f"the verifier gave the reference solution no reward\n{account(result)}"
    if not 0 <= score <= 1:
        return "out-of-range", f"the reward of the reference solution is outside [0, 1]\n{account(result)}"
    if score < 1:
        return "below-one", f"the reference solution does not earn the full reward\n{account(result)}"
    failed = [unit for unit in result.units if unit.status == "failed"]
    if failed:
        return "failing-unit", f"the reward is 1 although these test units failed:\n{listed(failed)}"
    return None


def _steps_without_solution(task: Task) -> str:
    for step in task.steps:
        if solution_folder(task, step) is None:
            return f"{step.folder}/solution/solve.sh" if step.folder else "solution/solve.sh"
    return ""
