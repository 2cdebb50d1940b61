"""What each role is asked, as values: the graphs fill them, the roles turn them into prompts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evolution.plan import Axis, Effort, Plan
    from evolution.sequence import Sequence
    from sandbox.task import Task


@dataclass(frozen=True, slots=True)
class Finding:
    """Why an earlier attempt was turned down.

    Attributes:
        source: Who says so: a gate's name, `critic`, `plan` or `evolver`.
        code: Stable code of the finding.
        text: What is wrong and what was seen.
    """

    source: str
    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Occasion:
    """Which piece of work a role is at; makes the key of each of its model calls.

    Attributes:
        lineage: Name of the lineage.
        generation: The generation being made.
        axis: The axis being tried.
        attempt: Number of the attempt in its loop, from 1.
        seed: Number handed to the model as its `seed`.
        transcript: File the conversation is appended to, one JSON message a line.
    """

    lineage: str
    generation: int
    axis: Axis
    attempt: int
    seed: int
    transcript: Path

    def key(self, role: str) -> str:
        """The prefix of the journal keys of a role's calls at this occasion."""
        return f"{self.lineage}/g{self.generation:03d}/{self.axis}/{role}/{self.attempt}"


@dataclass(frozen=True, slots=True)
class ProposalRequest:
    """Asks the proposer for a plan.

    Attributes:
        occasion: Which piece of work this is.
        parent: The environment to make harder.
        effort: How much of the sequence may be edited.
        sequence: The parent's recorded sequence; `None` when it has to be read off the task.
        scenario_surprisal: −log p_T(σ | g) in nats by scenario, for those the reference distribution knows.
        skill_surprisal: −log p_T(κ | σ, g) in nats by scenario, then skill.
        feedback: Why earlier plans along this axis were turned down.
    """

    occasion: Occasion
    parent: Task
    effort: Effort
    sequence: Sequence | None
    scenario_surprisal: Mapping[str, float] = field(default_factory=dict)
    skill_surprisal: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    feedback: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """Asks the critic whether a plan is worth building.

    Attributes:
        occasion: Which piece of work this is.
        parent: The environment the plan starts from.
        plan: The plan.
        difficulty_before: D_T of the parent's sequence, nats.
        difficulty_after: D_T of the planned one, nats.
    """

    occasion: Occasion
    parent: Task
    plan: Plan
    difficulty_before: float
    difficulty_after: float


@dataclass(frozen=True, slots=True)
class Review:
    """The critic's word on a plan.

    Attributes:
        accepted: Whether it is worth building.
        findings: What must change otherwise.
    """

    accepted: bool
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EvolveRequest:
    """Asks the evolver to turn a plan into edits of a task folder that lies at `/task` in its sandbox.

    Attributes:
        occasion: Which piece of work this is.
        parent: The environment the plan starts from.
        plan: The plan.
        feedback: What the gates found in the folder as the last attempt left it; empty at the first attempt.
    """

    occasion: Occasion
    parent: Task
    plan: Plan
    feedback: tuple[Finding, ...] = ()
