"""What came of a trial: one run of an agent (the reference solution, or nothing at all) and its verification."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from sandbox.verification.reward import AmbiguousRewardError, Reward

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sandbox.trial.agent import Turn, Usage
    from sandbox.verification.ctrf import Unit
    from sandbox.verification.verify import Verification

TrialClass = Literal["scored", "invalid", "infrastructure"]

TASK, IMAGE, SETUP = "task", "image", "setup"
"""Codes of errors that are the environment's fault, beside those of `Verification`."""
UNSUPPORTED, SANDBOX, AGENT_UNAVAILABLE = "unsupported", "sandbox", "agent-unavailable"
"""Codes of errors that are ours or this machine's."""
INFRASTRUCTURE = frozenset({UNSUPPORTED, SANDBOX, AGENT_UNAVAILABLE})

AGENT_TIMEOUT, AGENT_ERROR = "agent-timeout", "agent-error"


@dataclass(frozen=True, slots=True)
class TrialFinding:
    """Something worth knowing beside the reward.

    Attributes:
        kind: `agent-timeout`, `agent-error`, `network-narrowed`, `logs-not-kept`, or a kind of what the verification
            found left over.
        path: The path in the sandbox, or the step, that is meant; "" for the whole trial.
        note: In words.
    """

    kind: str
    path: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """From when to when something ran, in Unix time; for records only, nothing is decided by it."""

    began: float
    ended: float


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
class AgentRun:
    """How an agent other than the reference solution acted on a step.

    Attributes:
        turns: Its trajectory, as it recorded it.
        usage: What its model calls took; `None` when it asked no model.
        timed_out: Whether its time was up.
        error: What it raised, in a line; "" when it ended by itself.
        error_type: The class of that.
        seconds: Wall-clock seconds.
    """

    turns: tuple[Turn, ...] = ()
    usage: Usage | None = None
    timed_out: bool = False
    error: str = ""
    error_type: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step of a trial.

    Attributes:
        name: The step ("main" in a single-step task).
        solution: How the solution ran; `None` for other agents and where there is no solution for the step.
        verification: The verifier's word; `None` when the step could not be prepared, and `error` says why.
        error: Why there is no verification.
        run: How an agent acted; `None` for the reference solution and for nothing at all.
        acting: When it acted.
        verifying: When it was verified.
    """

    name: str
    solution: SolutionRun | None = None
    verification: Verification | None = None
    error: str = ""
    run: AgentRun | None = None
    acting: Span | None = None
    verifying: Span | None = None

    @property
    def findings(self) -> tuple[TrialFinding, ...]:
        """What the agent's end and the verification give to report."""
        path = "" if self.name == "main" else f"steps/{self.name}"
        found = []
        acted = self.run or self.solution
        if acted is not None and acted.timed_out:
            found.append(TrialFinding(AGENT_TIMEOUT, path, "its time was up; what it had done was verified"))
        if self.run is not None and self.run.error:
            found.append(TrialFinding(AGENT_ERROR, path, self.run.error))
        leftovers = getattr(self.verification, "leftovers", ())
        return (*found, *(TrialFinding(left.kind, left.path, left.note) for left in leftovers))


@dataclass(frozen=True, slots=True)
class TrialResult:
    """A whole trial.

    Attributes:
        agent: Who acted.
        steps: The steps that ran, in order; fewer than the task has when a `min_reward` or an error ended it.
        reward: The roll-up of the steps' rewards, what Harbor would report; `None` when there is none.
        error_code: Why there is no score: a code of `Verification`, "no-score", or one of this module; "" with a score.
        error: The same in words.
        seconds: Wall-clock seconds.
        task: The task's name.
        attempt: Which attempt at the task it was, from 1.
        notes: What is worth knowing beside what the steps tell; `findings` has all of it.
        starting: When its sandbox was made.
        whole: When all of it ran.
    """

    agent: str
    steps: tuple[StepResult, ...]
    reward: Reward | None
    error_code: str = ""
    error: str = ""
    seconds: float = 0.0
    task: str = ""
    attempt: int = 1
    notes: tuple[TrialFinding, ...] = ()
    starting: Span | None = field(default=None, compare=False)
    whole: Span | None = field(default=None, compare=False)

    @property
    def score(self) -> float | None:
        """The one number, or `None` when a verifier gave none: never a 0 in its stead.

        Stricter than Harbor where a later step breaks: there the mean of the steps before stands as the result.
        """
        return None if self.reward is None or self.error_code else self.reward.score

    @property
    def trial_class(self) -> TrialClass:
        """`scored`; or whose fault it is that there is no score: the environment's (`invalid`) or ours."""
        if self.score is not None:
            return "scored"
        return "infrastructure" if self.error_code in INFRASTRUCTURE else "invalid"

    @property
    def findings(self) -> tuple[TrialFinding, ...]:
        """What is worth knowing beside the reward: of the trial, then of each step."""
        return (*self.notes, *(finding for step in self.steps for finding in step.findings))

    @property
    def units(self) -> tuple[Unit, ...]:
        """The test units of all steps, in order."""
        return tuple(unit for step in self.steps if step.verification for unit in step.verification.units)


def trial_result(agent: str, steps: Sequence[StepResult], strategy: str | None, seconds: float = 0.0) -> TrialResult:
    """Rolls the steps up to one result."""
    reward = roll_up([step.verification.reward if step.verification else None for step in steps], strategy)
    error_code, error = "", ""
    # A step without a reward ends a trial, so only the last one can be at fault.
    last = steps[-1] if steps else None
    if last is not None and last.verification is None:
        error_code, error = SETUP, last.error
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
