"""A plan: the typed difference of two sequences, with the axis and the effort it must keep to."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator

from evolution.sequence import Sequence, Step


class Axis(StrEnum):
    """A difficulty axis (the paper's "direction"): what grows, hence which edit is allowed."""

    SCENARIO = "scenario"
    SKILL = "skill"
    LENGTH = "length"


class Effort(StrEnum):
    """How much of ξ one generation may edit (*Environment Evolution*, "evolution effort")."""

    LOW = "low"
    HIGH = "high"
    MAX = "max"


class Plan(BaseModel):
    """What one generation changes; invalid ones cannot be made.

    Attributes:
        axis: The difficulty axis.
        effort: The scope: `low` one pair, `high` one contiguous span, `max` anywhere.
        before: The parent's sequence.
        after: The child's.
        rationale: Why this is harder, in the proposer's words.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    axis: Axis
    effort: Effort
    before: Sequence
    after: Sequence
    rationale: str = ""

    @model_validator(mode="after")
    def _keeps_to_axis_and_effort(self) -> Self:
        problem = axis_problem(self.axis, self.before, self.after) or effort_problem(self.effort, self.edited_positions)
        if problem:
            raise ValueError(problem)
        return self

    @property
    def edited_positions(self) -> tuple[int, ...]:
        """Positions in `after` of the steps that are new or differ from the parent's step of the same id."""
        old = {step.id: step for step in self.before.steps}
        return tuple(i for i, step in enumerate(self.after.steps) if old.get(step.id) != step)

    @property
    def edited_steps(self) -> tuple[Step, ...]:
        """The steps at `edited_positions`."""
        return tuple(self.after.steps[i] for i in self.edited_positions)


def axis_problem(axis: Axis, before: Sequence, after: Sequence) -> str:
    """Says how the difference breaks the rule of its axis, or "" when it keeps it."""
    if before == after:
        return "the plan changes nothing: before and after are the same sequence"
    if axis is Axis.LENGTH:
        kept = [step for step in after.steps if step.id in before.ids]
        if tuple(kept) != before.steps:
            return "axis length only inserts steps: every parent step must stay, unchanged and in order"
        return ""
    if after.ids != before.ids:
        return f"axis {axis} only replaces: the step ids must stay {list(before.ids)}, got {list(after.ids)}"
    fixed = "skill" if axis is Axis.SCENARIO else "scenario"
    for old, new in zip(before.steps, after.steps, strict=True):
        if getattr(old, fixed) != getattr(new, fixed):
            return f"axis {axis} must keep each step's {fixed}: step {old.id} goes from {old} to {new}"
    return ""


def effort_problem(effort: Effort, positions: tuple[int, ...]) -> str:
    """Says how the edited positions exceed the effort, or "" when they are within it."""
    if effort is Effort.LOW and len(positions) > 1:
        return f"effort low edits one pair, this plan edits {len(positions)}"
    if effort is Effort.HIGH and positions and positions[-1] - positions[0] + 1 != len(positions):
        return f"effort high edits one contiguous span, this plan edits positions {list(positions)}"
    return ""
