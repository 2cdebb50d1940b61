"""Gate `oracle`: the reference solution earns a reward of exactly 1 in a fresh sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from evolution.gates.diagnosis import denied, missing_commands, printed_by_tests, timed_out
from evolution.gates.outcomes import accepted, account, invalid, listed
from sandbox.task.reference import solution_folder
from sandbox.trial.steps import run_reference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evolution.verdict import Candidate, Verdict
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task
    from sandbox.trial.result import TrialResult


class OracleGate:
    """Runs the reference solution once; where it fails, what scripts print often says why, and the code tells."""

    name: Final = "oracle"
    stage: Final = 2
    codes: ClassVar[Mapping[str, str]] = {
        "no-solution": "a step has no reference solution",
        "timed-out": "the solution or the verifier ran until its time was up",
        "missing-command": "the solution or the verifier calls a command or a Python module that is not there",
        "permission-denied": "the solution or the verifier may not read, write or run something",
        "no-reward": "the verifier gives the reference solution no reward",
        "out-of-range": "the reward is outside [0, 1]",
        "below-one": "the reference solution does not earn the full reward",
        "failing-unit": "the reward is 1 although a test unit failed",
    }

    async def check(self, candidate: Candidate, sandboxes: Sandboxes) -> Verdict:
        """Judges the candidate; raises what a sandbox raises."""
        missing = _steps_without_solution(candidate.task)
        if missing:
            return invalid(
                self.name, "no-solution", f"there is no {missing}: nothing shows that the task can be solved"
            )
        async with sandboxes.running(candidate.task) as sandbox:
            result = await run_reference(candidate.task, sandbox)
            problem = oracle_problem(result)
            if problem and problem[0] in {"no-reward", "below-one"}:
                workdir = candidate.task.config.environment.workdir or sandbox.image.workdir
                paths = await denied(result, sandbox, workdir)
                if paths:
                    problem = "permission-denied", f"permissions are in the way:\n{paths}\n{account(result)}"
        return invalid(self.name, *problem) if problem else accepted(self.name)


def oracle_problem(result: TrialResult) -> tuple[str, str] | None:
    """What keeps a run of the reference solution from being a pass: code and evidence; `None` when it is one."""
    score = result.score
    if score is None or 0 <= score < 1:
        return _shortfall(result)
    stopped = timed_out(result)
    if stopped:
        return "timed-out", f"it earned its reward, but never came to an end: {stopped}\n{account(result)}"
    if not 0 <= score <= 1:
        return "out-of-range", f"the reward of the reference solution is outside [0, 1]\n{account(result)}"
    failed = [unit for unit in result.units if unit.status == "failed"]
    if failed:
        return "failing-unit", f"the reward is 1 although these test units failed:\n{listed(failed)}"
    return None


def _shortfall(result: TrialResult) -> tuple[str, str]:
    """Why there is less than 1 or nothing: the cause where the outputs tell it."""
    stopped = timed_out(result)
    if stopped:
        return "timed-out", f"{stopped}\n{account(result)}"
    missing = missing_commands(result)
    if missing:
        return "missing-command", f"what was called and is not there:\n{missing}\n{account(result)}"
    if result.score is None:
        return "no-reward", f"the verifier gave the reference solution no reward\n{account(result)}"
    said = f"the reference solution does not earn the full reward\n{account(result)}{printed_by_tests(result)}"
    return "below-one", said


def _steps_without_solution(task: Task) -> str:
    for step in task.steps:
        if solution_folder(task, step) is None:
            return f"{step.folder}/solution/solve.sh" if step.folder else "solution/solve.sh"
    return ""
