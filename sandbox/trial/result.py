"""What came of a trial: one run of an agent (the reference solution, or nothing at all) and its verification."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from sandbox.verification.reward import AmbiguousRewardError, Reward

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sandbox.verification.ctrf import Unit
    from sandbox.verification.verify import Verification

Agent = Literal["oracle", "noop"]


@dataclass(frozen=True, slots=True)
class SolutionRun:
    """How a reference solution ran.

    Attributes:
        exit_code: Its exit status; counts for nothing, as in Harbor.
        timed_out: Whether it was stopped because the agent's time was up.
        stdout: The end of its standard output.
        stderr: The end of its standard error.
    """

    exit_code: int
    timed_out: bool = False
    stdout: str = ""
    stderr: str = ""


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step of a trial.

    Attributes:
        name: The step ("main" in a single-step task).
        solution: How the solution ran; `None` for a no-op and where there is no solution for the step.
        verification: The verifier's word; `None` when the step could not be prepared, and `error` says why.
        error: Why there is no verification.
    """

    name: str
    solution: SolutionRun | None = None
    verification: Verification | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """A whole trial.

    Attributes:
        agent: Who acted.
        steps: The steps that ran, in order; fewer than the task has when a `min_reward` or an error ended it.
        reward: The roll-up of the steps' rewards, what Harbor would report; `None` when there is none.
        error_code: Why there is no score: a code of `Verification`, "setup", or "no-score"; "" with a score.
        error: The same in words.
        seconds: Wall-clock seconds.
    """

    agent: Agent
    steps: tuple[StepResult, ...]
    reward: Reward | None
    error_code: str = ""
    error: str = ""
    seconds: float = 0.0

    @property
    def score(self) -> float | None:
        """The one number, or `None` when a verifier gave none: never a 0 in its stead.

        Stricter than Harbor where a later step breaks: there the mean of the steps before stands as the result.
        """
        return None if self.reward is None or self.error_code else self.reward.score

    @property
    def units(self) -> tuple[Unit, ...]:
        """The test units of all steps, in order."""
        return tuple(unit for step in self.steps if step.verification for unit in step.verification.units)


def trial_result(agent: Agent, steps: Sequence[StepResult], strategy: str | None, seconds: float = 0.0) -> TrialResult:
    """Rolls the steps up to one result."""
    reward = roll_up([step.verification.reward if step.verification else None for step in steps], strategy)
    error_code, error = "", ""
    # A step without a reward ends a trial, so only the last one can be at fault.
    last = steps[-1] if steps else None
    if last is not None and last.verification is None:
        error_code, error = "setup", last.error
    elif last is not None and last.verification is not None and last.verification.reward is None:
        error_code, error = last.verification.error_code, last.verification.error
    if reward is not None and not error_code:
        try:
            _ = reward.score
        except AmbiguousRewardError as ambiguous:
            error_code, error = ambiguous.code, str(ambiguous)
    return TrialResult(agent, tuple(steps), reward, error_code, error, seconds)


def roll_up(rewards: Sequence[Reward | None], strategy: str | None) -> Reward | None:
    """The reward of a trial from those of its steps, as Harbor reckons it.

    `final` takes the last step that ran. `mean` (also when nothing is set) takes the mean of each key over the steps
    that have a reward; a key that a step did not write counts 0 there, and a step without a reward is left out. Steps
    that never ran do not count, so a trial that ends early at a `min_reward` is the mean of what ran.
    """
    if not rewards:
        return None
    if strategy == "final" or len(rewards) == 1:
        return rewards[-1]
    valid = [reward.rewards for reward in rewards if reward is not None]
    keys = dict.fromkeys(key for reward in valid for key in reward)
    if not keys:
        return None
    return Reward(MappingProxyType({key: sum(reward.get(key, 0.0) for reward in valid) / len(valid) for key in keys}))


def meets(reward: Reward | None, least: float | Mapping[str, float] | None) -> bool:
    """Whether a step's reward reaches its `min_reward`; a missing reward or key is below every threshold."""
    if least is None:
        return True
    thresholds = {"reward": least} if isinstance(least, (int, float)) else least
    found = {} if reward is None else reward.rewards
    return all(found.get(key, float("-inf")) >= threshold for key, threshold in thresholds.items())


def as_json(result: TrialResult) -> dict[str, object]:
    """A result as plain JSON values."""
    steps = [
        {
            "name": step.name,
            "solution": dataclasses.asdict(step.solution) if step.solution else None,
            "verification": {
                **{
                    field.name: getattr(step.verification, field.name)
                    for field in dataclasses.fields(step.verification)
                    if field.name not in {"reward", "units"}
                },
                "rewards": dict(step.verification.reward.rewards) if step.verification.reward else None,
                "units": [dataclasses.asdict(unit) for unit in step.verification.units],
            }
            if step.verification
            else None,
            "error": step.error,
        }
        for step in result.steps
    ]
    return {
        "agent": result.agent,
        "score": result.score,
        "rewards": dict(result.reward.rewards) if result.reward else None,
        "error_code": result.error_code,
        "error": result.error,
        "seconds": round(result.seconds, 3),
        "steps": steps,
    }
