"""Gate `rerun`: on fresh instances the same happens again. What differs is flakiness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from evolution.gates.noop import noop_problem
from evolution.gates.outcomes import accepted, account, invalid
from evolution.gates.trials import fresh_noop, fresh_reference, together
from sandbox.verification.ctrf import statuses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evolution.gates.roles import Roles
    from evolution.gates.settings import GateSettings
    from evolution.verdict import Candidate, Verdict
    from sandbox.sandboxes import Sandboxes
    from sandbox.trial.result import TrialResult

ABSENT: Final = "absent"


class RerunGate:
    """Runs the reference solution several times and the no-op once, each in a fresh sandbox, side by side.

    Codes: `rerun/no-reward` (a run had none), `rerun/reward-differs` (between the runs, or from the 1 of gate
    `oracle`), `rerun/unit-differs` (another status), `rerun/units-differ` (other names), `rerun/noop-differs` (what
    gate `noop` refuses).

    Args:
        runs: How often the reference solution runs; at least 2.
    """

    name: Final = "rerun"
    stage: Final = 3

    def __init__(self, runs: int = 2) -> None:
        if runs < 2:  # noqa: PLR2004 - one run cannot differ from itself
            raise ValueError(f"runs: {runs}, but it takes at least 2 to see a difference")
        self.runs = runs

    @classmethod
    def configured(cls, settings: GateSettings, _: Roles) -> Self:
        """As `GateSettings.reruns` says."""
        return cls(settings.reruns or 2)

    async def check(self, candidate: Candidate, sandboxes: Sandboxes) -> Verdict:
        """Judges the candidate; raises what a sandbox raises."""
        task = candidate.task
        oracle = [fresh_reference(task, sandboxes) for _ in range(self.runs)]
        *results, noop = await together([*oracle, fresh_noop(task, sandboxes)])
        problem = difference(results)
        if problem:
            return invalid(self.name, *problem)
        again = noop_problem(task, noop)
        if again:
            return invalid(self.name, "noop-differs", f"run again, doing nothing is not refused any more: {again[1]}")
        return accepted(self.name)


def difference(results: Sequence[TrialResult]) -> tuple[str, str] | None:
    """How runs of a passing reference solution differ: code and evidence; `None` when all are alike and earn 1."""
    for number, result in enumerate(results, start=1):
        if result.score is None:
            return "no-reward", f"run {number} of {len(results)} of the reference solution: {account(result)}"
    units = [statuses(result.units) for result in results]
    names = sorted({name for found in units for name in found})
    differing = [name for name in names if len({found.get(name, ABSENT) for found in units}) > 1]
    lines = [f"  {name}: {', '.join(found.get(name, ABSENT) for found in units)}" for name in differing]
    shown = "\n" + "\n".join(["test units that differ, run by run:", *lines]) if lines else ""
    scores = [result.score for result in results]
    if any(score != 1 for score in scores):
        said = ", ".join(f"{score:g}" for score in scores if score is not None)
        worst = next(result for result in results if result.score != 1)
        return "reward-differs", f"the reference solution earned, run by run: {said}{shown}\n{account(worst)}"
    if any(ABSENT in {found.get(name, ABSENT) for found in units} for name in differing):
        return "units-differ", f"the test units are not the same in every run{shown}"
    if differing:
        return "unit-differs", f"the reward is 1 each time, but{shown}"
    return None
