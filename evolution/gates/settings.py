"""The numbers and files that gates work with, as one value."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Share = Annotated[float, Field(ge=0, le=1)]


class GateSettings(BaseModel):
    """What can be said to the gates; each has a default that suits a task nobody knows.

    Attributes:
        reruns: Runs of the reference solution in gate `rerun`, exactly so many; left out, the sequential test decides.
        flakiness: The share of failing runs that the sequential test wants to rule out.
        confidence: How sure it wants to be of that.
        most_reruns: Where it gives up and says how sure it is.
        held_out: Folders of tasks or instructions that no task may overlap with (gate `overlap`).
        most_for_cheating: The reward that work-free attempts must stay below (gate `exploit`).
        mutants: How many broken solutions gate `mutation` tries at most.
        least_noticed: The share of them that the tests must notice.
        alternatives: A folder `<task name>/<alternative>/solve.sh` of right solutions, beside those in the tasks.
        band: Least and greatest mean reward of a calibrated task (AutoEnvScaling, admission).
        deviation: Least standard deviation of the rollouts' rewards.
        rollouts: Rollouts that calibration begins with.
        most_rollouts: Rollouts where the mean is near an edge of the band.
        edge: What is near.
        rubrics: A file of rubrics that people added (gate `rubric-judge`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    reruns: Annotated[int, Field(ge=2, le=1000)] | None = None
    flakiness: Annotated[float, Field(gt=0, lt=1)] = 0.1
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    most_reruns: Annotated[int, Field(ge=2, le=1000)] = 40
    held_out: tuple[Path, ...] = ()
    most_for_cheating: Share = 0.5
    mutants: Annotated[int, Field(ge=1, le=200)] = 12
    least_noticed: Share = 0.5
    alternatives: Path | None = None
    band: tuple[Share, Share] = (0.25, 0.75)
    deviation: Share = 0.1
    rollouts: Annotated[int, Field(ge=2, le=256)] = 4
    most_rollouts: Annotated[int, Field(ge=2, le=256)] = 8
    edge: Share = 0.15
    rubrics: Path | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.band[0] > self.band[1]:
            raise ValueError(f"band: {self.band[0]:g} is above {self.band[1]:g}; give the lower end first")
        if self.most_rollouts < self.rollouts:
            raise ValueError(f"most_rollouts: {self.most_rollouts} is below rollouts, {self.rollouts}")
        return self
