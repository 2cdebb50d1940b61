"""Gate `calibration`: for a given solver, a task is neither too easy nor too hard (*AutoEnvScaling*, admission, 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, ClassVar, Final, Literal, Self

from evolution.gates.errors import GateError
from evolution.gates.outcomes import accepted, account, infrastructure, invalid, miscalibrated, repeatable
from evolution.gates.scripts import solution_of, text_of
from evolution.gates.settings import GateSettings
from evolution.gates.trials import together
from evolution.randomness import derive_seed
from sandbox.trial.agents import AgentChoice
from sandbox.trial.result import AGENT_UNAVAILABLE
from sandbox.trial.running import Trials

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evolution.gates.roles import AgentMaker, Roles
    from evolution.verdict import Candidate, Verdict
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task
    from sandbox.trial.result import TrialResult

MOST_HINT: Final = 8000
"""Characters of the reference solution that the diagnostic rollout is told."""
_ROUNDING: Final = 1e-9
Outcome = Literal["calibrated", "too-easy", "too-hard", "no-variance"]


@dataclass(frozen=True, slots=True)
class Rewards:
    """What some rollouts earned, held against the band.

    Attributes:
        values: A reward for each rollout; at least one.
        settings: Band, deviation, and what is near an edge.
    """

    values: tuple[float, ...]
    settings: GateSettings

    @property
    def mean(self) -> float:
        """r̄."""
        return fmean(self.values)

    @property
    def deviation(self) -> float:
        """Population standard deviation."""
        return pstdev(self.values)

    @property
    def outcome(self) -> Outcome:
        """What they say of the task; the ends of the band belong to it."""
        low, high = self.settings.band
        if self.mean < low - _ROUNDING:
            return "too-hard"
        if self.mean > high + _ROUNDING:
            return "too-easy"
        return "no-variance" if self.deviation < self.settings.deviation - _ROUNDING else "calibrated"

    def told(self, solver: str) -> str:
        """The figures in words."""
        (low, high), least = self.settings.band, self.settings.deviation
        return (
            f"{solver}: mean reward {self.mean:.3f}, standard deviation {self.deviation:.3f} over "
            f"{len(self.values)} rollouts ({', '.join(f'{reward:g}' for reward in self.values)}); "
            f"expected {low:g} to {high:g}, and a deviation of at least {least:g}"
        )

    def measured(self) -> dict[str, float]:
        """The figures by name."""
        return {"mean": self.mean, "deviation": self.deviation, "rollouts": float(len(self.values))}


class CalibrationGate:
    """Lets a solver try the task a few times, and more often where the mean reward r̄ is near an edge of the band.

    Accepted when low ≤ r̄ ≤ high and the population standard deviation of the rewards is at least `deviation`. Below the
    band one more rollout is told the reference solution, which tells a hard task from one that nobody can solve.

    A rollout that our own parts or the solver's provider kept from its end says nothing of the task: no verdict on
    difficulty is made with one missing.

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
            rewards = Rewards(tuple(result.score for result in results if result.score is not None), settings)
            if not is_near(rewards.mean, settings):
                break
        if rewards.outcome == "calibrated":
            return accepted(self.name, rewards.measured())
        if rewards.outcome == "too-hard":
            return await self._diagnosed(task, sandboxes, rewards)
        return miscalibrated(self.name, rewards.outcome, rewards.told(self._solver.name), rewards.measured())

    async def _diagnosed(self, task: Task, sandboxes: Sandboxes, rewards: Rewards) -> Verdict:
        """Why the mean is below the band, by a rollout that knows how it is done."""
        hinted = await self._rollout(task, sandboxes, self._settings.most_rollouts, hint=hint_of(task))
        refused = self._without_reward([hinted])
        if refused is not None:
            return refused
        score = hinted.score or 0.0
        what, note = "too-hard", f"told the reference solution it earned {score:g}: the task is hard, not impossible"
        if score <= rewards.mean:
            what = "not-solved-with-hints"
            note = f"told the reference solution it earned {score:g}: look whether the task can be solved as it is told"
            note = f"{note}\n{account(hinted)}"
        measured = {**rewards.measured(), "hinted": score}
        return miscalibrated(self.name, what, f"{rewards.told(self._solver.name)}\n{note}", measured)

    async def _rollout(self, task: Task, sandboxes: Sandboxes, number: int, hint: str = "") -> TrialResult:
        seed = derive_seed("calibration", task.content_hash, number)
        choice = AgentChoice(self._solver.name, lambda: self._solver.make(seed=seed, hint=hint))
        return await Trials(sandboxes, choice, network=sandboxes.network).run(task, attempt=number + 1)

    def _without_reward(self, results: Sequence[TrialResult]) -> Verdict | None:
        """What a missing reward says: the environment's fault before ours; `None` when none is missing."""
        missing = [result for result in results if result.score is None]
        for result in sorted(missing, key=lambda result: result.trial_class == "infrastructure"):
            said = f"rollout {result.attempt} has no reward ({result.error_code}): {repeatable(result.error)}"
            if result.trial_class == "infrastructure":
                what = "solver" if result.error_code == AGENT_UNAVAILABLE else result.error_code
                return infrastructure(self.name, what, said)
            return invalid(self.name, "no-reward", said)
        return None


def is_near(mean: float, settings: GateSettings) -> bool:
    """Whether a mean reward is so near an edge of the band that more rollouts are wanted; 0 and 1 are none."""
    edges = [edge for edge in settings.band if 0 < edge < 1]
    return any(abs(mean - edge) <= settings.edge + _ROUNDING for edge in edges)


def hint_of(task: Task) -> str:
    """The reference solution, as what a diagnostic rollout is told."""
    parts = []
    for file in solution_of(task):
        text = text_of(task, file)
        if text is not None:
            parts.append(f"--- {file.path}\n{text}")
    return "\n".join(parts)[:MOST_HINT]
