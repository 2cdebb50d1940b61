"""Gate `calibration`: for a given solver, a task is neither too easy nor too hard (*AutoEnvScaling*, admission, 2)."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, ClassVar, Final, Self

from evolution.gates.errors import GateError
from evolution.gates.outcomes import accepted, account, infrastructure, invalid, miscalibrated, repeatable
from evolution.gates.scripts import solution_of, text_of
from evolution.gates.settings import GateSettings
from evolution.gates.trials import together
from evolution.randomness import derive_seed
from sandbox.trial.agents import AgentChoice
from sandbox.trial.result import INFRASTRUCTURE
from sandbox.trial.running import Trials

if TYPE_CHECKING:
    from evolution.gates.roles import AgentMaker, Roles
    from evolution.verdict import Candidate, Verdict
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task
    from sandbox.trial.result import TrialResult

MOST_HINT: Final = 8000
"""Characters of the reference solution that the diagnostic rollout is told."""
_ROUNDING: Final = 1e-9


class CalibrationGate:
    """Lets a solver try the task a few times, and more often where the mean reward r̄ is near an edge of the band.

    Accepted when low ≤ r̄ ≤ high and the population standard deviation of the rewards is at least `deviation`. Below the
    band one more rollout is told the reference solution, which tells a hard task from one that nobody can solve.

    Args:
        solver: Who tries.
        settings: Band, deviation, numbers of rollouts, and what is near.
    """

    name: Final = "calibration"
    stage: Final = 5
    codes: ClassVar[Mapping[str, str]] = {
        "too-easy": "the solver's mean reward is above the band",
        "too-hard": "the solver's mean reward is below the band; with hints it does better",
        "not-solved-with-hints": "the solver's mean reward is below the band, also when told the reference solution",
        "no-variance": "the solver's rewards hardly differ, so there is nothing to learn from them",
        "no-reward": "a verifier gave a rollout no reward: it breaks on something that a solver may leave",
        "solver": "the solver could not be had",
    }

    def __init__(self, solver: AgentMaker, settings: GateSettings | None = None) -> None:
        self._solver = solver
        self._settings = settings or GateSettings()

    @classmethod
    def configured(cls, settings: GateSettings, roles: Roles) -> Self:
        """With the run's solver.

        Raises:
            GateError: There is none.
        """
        if roles.solver is None:
            raise GateError("gate 'calibration' needs a solver: name a model, or module:Class, with --solver")
        return cls(roles.solver, settings)

    async def check(self, candidate: Candidate, sandboxes: Sandboxes) -> Verdict:
        """Judges the candidate; raises what a sandbox raises."""
        settings, task = self._settings, candidate.task
        results: list[TrialResult] = []
        for goal in (settings.rollouts, settings.most_rollouts):
            numbers = range(len(results), goal)
            results += await together([self._rollout(task, sandboxes, number) for number in numbers])
            refused = self._without_reward(results)
            if refused is not None:
                return refused
            rewards = [result.score for result in results if result.score is not None]
            if not is_near(fmean(rewards), settings):
                break
        measured = {"mean": fmean(rewards), "deviation": pstdev(rewards), "rollouts": float(len(rewards))}
        said = (
            f"{self._solver.name}: mean reward {measured['mean']:.3f}, standard deviation {measured['deviation']:.3f} "
            f"over {len(rewards)} rollouts ({', '.join(f'{reward:g}' for reward in rewards)}); "
            f"expected {settings.band[0]:g} to {settings.band[1]:g}, and a deviation of at least {settings.deviation:g}"
        )
        if measured["mean"] < settings.band[0] - _ROUNDING:
            return await self._diagnosed(task, sandboxes, said, measured)
        if measured["mean"] > settings.band[1] + _ROUNDING:
            return miscalibrated(self.name, "too-easy", said, measured)
        if measured["deviation"] < settings.deviation - _ROUNDING:
            return miscalibrated(self.name, "no-variance", said, measured)
        return accepted(self.name, measured)

    async def _diagnosed(self, task: Task, sandboxes: Sandboxes, said: str, measured: dict[str, float]) -> Verdict:
        hinted = await self._rollout(task, sandboxes, self._settings.most_rollouts, hint=hint_of(task))
        score = hinted.score
        if score is None:
            return miscalibrated(
                self.name, "too-hard", f"{said}\nthe hinted rollout has no reward: {hinted.error}", measured
            )
        measured = {**measured, "hinted": score}
        if score <= measured["mean"]:
            note = f"told the reference solution it earned {score:g}: look whether the task can be solved as it is told"
            return miscalibrated(self.name, "not-solved-with-hints", f"{said}\n{note}\n{account(hinted)}", measured)
        return miscalibrated(
            self.name, "too-hard", f"{said}\ntold the reference solution it earned {score:g}", measured
        )

    async def _rollout(self, task: Task, sandboxes: Sandboxes, number: int, hint: str = "") -> TrialResult:
        seed = derive_seed("calibration", task.content_hash, number)
        choice = AgentChoice(self._solver.name, lambda: self._solver.make(seed=seed, hint=hint))
        return await Trials(sandboxes, choice).run(task, attempt=number + 1)

    def _without_reward(self, results: list[TrialResult]) -> Verdict | None:
        for result in results:
            if result.score is not None:
                continue
            said = f"rollout {result.attempt} has no reward ({result.error_code}): {repeatable(result.error)}"
            if result.error_code in INFRASTRUCTURE:
                return infrastructure(self.name, "solver", said)
            return invalid(self.name, "no-reward", said)
        return None


def is_near(mean: float, settings: GateSettings) -> bool:
    """Whether a mean reward is so near an edge of the band that more rollouts are wanted."""
    return any(abs(mean - edge) <= settings.edge + _ROUNDING for edge in settings.band)


def hint_of(task: Task) -> str:
    """The reference solution, as what a diagnostic rollout is told."""
    parts = []
    for file in solution_of(task):
        text = text_of(task, file)
        if text is not None:
            parts.append(f"--- {file.path}\n{text}")
    return "\n".join(parts)[:MOST_HINT]
