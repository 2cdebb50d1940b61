"""Gate `noop`: doing nothing is not rewarded."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from evolution.gates.diagnosis import timed_out
from evolution.gates.outcomes import accepted, account, invalid, listed
from evolution.gates.trials import fresh_noop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evolution.verdict import Candidate, Verdict
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task
    from sandbox.trial.result import TrialResult

MOST_FOR_NOTHING: Final = 0.5


class NoopGate:
    """Runs the verifier in an untouched sandbox.

    A verifier that gives *no* reward here is at fault: Harbor records an error and no number, so every rollout that
    fails early would be lost to training instead of counting as a failure. That holds for each step up to the one
    whose `min_reward` ends the trial.
    """

    name: Final = "noop"
    stage: Final = 2
    codes: ClassVar[Mapping[str, str]] = {
        "timed-out": "after no work the verifier runs until its time is up: it waits for something",
        "no-reward": "after no work the verifier gives no reward",
        "out-of-range": "the reward of doing nothing is outside [0, 1]",
        "passes": "doing nothing earns half the reward or more",
        "not-zero": "the reward is declared binary, and doing nothing earns some",
    }

    async def check(self, candidate: Candidate, sandboxes: Sandboxes) -> Verdict:
        """Judges the candidate; raises what a sandbox raises."""
        result = await fresh_noop(candidate.task, sandboxes)
        problem = noop_problem(candidate.task, result)
        return invalid(self.name, *problem) if problem else accepted(self.name)


def noop_problem(task: Task, result: TrialResult) -> tuple[str, str] | None:
    """What is wrong with the reward of doing nothing: code and evidence; `None` when nothing is."""
    score = result.score
    if score is None and (stopped := timed_out(result)):
        return "timed-out", f"after no work at all the verifier has to write 0, and soon: {stopped}\n{account(result)}"
    if score is None:
        return "no-reward", f"after no work at all the verifier gives no reward; it has to write 0\n{account(result)}"
    if not 0 <= score <= 1:
        return "out-of-range", f"the reward of doing nothing is outside [0, 1]\n{account(result)}"
    passing = [unit for unit in result.units if unit.passed]
    units = f"\ntest units that pass without any work:\n{listed(passing)}" if passing else ""
    if score >= MOST_FOR_NOTHING:
        return "passes", f"doing nothing earns a reward of {score:g}{units}"
    if score and task.evolution.get("reward") == "binary":
        return "not-zero", f"the reward is declared binary, and doing nothing earns {score:g}{units}"
    return None
