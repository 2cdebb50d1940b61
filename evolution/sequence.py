"""An execution read at a high level: ξ, the (scenario, skill) pairs an environment takes a solver through.

*Environment Evolution*, section on difficulty: ξ = (σ0, κ1, σ1, …, κL, σL). A `Step` here is one pair (σ_{t−1}, κ_t).
"""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

NAME = r"^[a-z0-9][a-z0-9-]{0,63}$"
Name = Annotated[str, Field(pattern=NAME, description="lower-case words joined by hyphens")]


class Step(BaseModel):
    """One pair of a sequence.

    Attributes:
        id: Stable along a lineage: an edited step keeps it, an inserted one gets a new one. It also names the step's
            section in `solution/solve.sh` (`# envolve: step <id>`) and its test units (`<id>::<unit>`).
        scenario: σ, the situation the solver is in.
        skill: κ, what the solver applies there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Name
    scenario: Name
    skill: Name

    def __str__(self) -> str:
        return f"{self.scenario}/{self.skill}"


class Sequence(BaseModel):
    """ξ: the steps of one environment in order; ids are unique."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: tuple[Step, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _ids_are_unique(self) -> Self:
        ids = [step.id for step in self.steps]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        if twice:
            raise ValueError(f"step ids must be unique, these come twice: {', '.join(twice)}")
        return self

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        return " → ".join(str(step) for step in self.steps)

    @property
    def ids(self) -> tuple[str, ...]:
        """The step ids in order."""
        return tuple(step.id for step in self.steps)

    def insert(self, position: int, steps: tuple[Step, ...]) -> Sequence:
        """The `length` edit: a sequence with `steps` before the step that is now at `position` (len = append).

        Raises:
            IndexError: `position` is outside 0..len.
        """
        if not 0 <= position <= len(self):
            raise IndexError(f"position {position} is outside 0..{len(self)}")
        return Sequence(steps=(*self.steps[:position], *steps, *self.steps[position:]))

    def replace_scenario(self, position: int, scenario: str) -> Sequence:
        """The `scenario` edit: another situation, the skill paired with it stays.

        Raises:
            IndexError: There is no step at `position` (counted from 0).
        """
        return self._replace(position, scenario=scenario)

    def replace_skill(self, position: int, skill: str) -> Sequence:
        """The `skill` edit: another skill in the same situation.

        Raises:
            IndexError: There is no step at `position` (counted from 0).
        """
        return self._replace(position, skill=skill)

    def _replace(self, position: int, **changed: str) -> Sequence:
        if not 0 <= position < len(self):
            raise IndexError(f"position {position} is outside 0..{len(self) - 1}")
        step = Step.model_validate({**self.steps[position].model_dump(), **changed})
        return Sequence(steps=(*self.steps[:position], step, *self.steps[position + 1 :]))


def is_name(text: str) -> bool:
    """Whether `text` can name a step, a scenario or a skill."""
    return re.fullmatch(NAME, text) is not None
