"""D_T(ξ): how hard a sequence is by a reference distribution, whatever the policy in training.

*Environment Evolution*, section on difficulty, with p_θ replaced by p_T:

    D_T(ξ) = Σ_{t=1..L} [ −log p_T(σ_{t−1} | g) − log p_T(κ_t | σ_{t−1}, g) ]        (nats)
"""

from __future__ import annotations

from math import fsum, log
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from evolution.reference import Reference
    from evolution.sequence import Sequence


class StepDifficulty(BaseModel):
    """One term of the sum.

    Attributes:
        step: The step's id.
        scenario: Novelty of its scenario, −log p_T(σ | g), nats.
        skill: Rarity of its skill there, −log p_T(κ | σ, g), nats.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: str
    scenario: float
    skill: float


class Difficulty(BaseModel):
    """D_T of a sequence and its terms, in nats."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: tuple[StepDifficulty, ...]

    @property
    def scenario(self) -> float:
        """The scenario part of the sum."""
        return fsum(step.scenario for step in self.steps)

    @property
    def skill(self) -> float:
        """The skill part of the sum."""
        return fsum(step.skill for step in self.steps)

    @property
    def length(self) -> int:
        """L, the number of pairs."""
        return len(self.steps)

    @property
    def total(self) -> float:
        """D_T(ξ)."""
        return fsum(part for step in self.steps for part in (step.scenario, step.skill))


def difficulty(sequence: Sequence, reference: Reference) -> Difficulty:
    """Measures a sequence by a reference distribution."""
    return Difficulty(
        steps=tuple(
            StepDifficulty(
                step=step.id,
                scenario=-log(reference.scenario(step.scenario)),
                skill=-log(reference.skill(step.skill, step.scenario)),
            )
            for step in sequence.steps
        )
    )
