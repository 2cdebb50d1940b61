"""Gate `rubric-judge`: somebody reads the task, by criteria that are built in and by rubrics that people added."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, ClassVar, Final, Self

import yaml

from evolution.gates.errors import GateError
from evolution.gates.outcomes import finding, infrastructure, judged, repeatable
from evolution.gates.roles import Criterion
from evolution.rubrics import read_rubrics

if TYPE_CHECKING:
    from evolution.gates.roles import Judge, Roles
    from evolution.gates.settings import GateSettings
    from evolution.verdict import Candidate, Verdict
    from sandbox.sandboxes import Sandboxes


@cache
def built_in_criteria() -> tuple[Criterion, ...]:
    """The criteria of `criteria.yaml`."""
    text = (resources.files(__package__) / "criteria.yaml").read_text(encoding="utf-8")
    return tuple(Criterion(entry["id"], entry["text"].strip()) for entry in yaml.safe_load(text))


class RubricJudgeGate:
    """Asks a judge about each criterion; one that does not hold is a finding with the criterion's id as its code.

    Args:
        judge: Who reads.
        criteria: What has to hold.
    """

    name: Final = "rubric-judge"
    stage: Final = 4
    codes: ClassVar[Mapping[str, str]] = {
        "unanswered": "the judge gave no usable answer",
        **{criterion.id: f"does not hold: {criterion.text}" for criterion in built_in_criteria()},
    }

    def __init__(self, judge: Judge, criteria: tuple[Criterion, ...] | None = None) -> None:
        self._judge = judge
        self.criteria = criteria if criteria is not None else built_in_criteria()

    @classmethod
    def configured(cls, settings: GateSettings, roles: Roles) -> Self:
        """With the built-in criteria and those of `GateSettings.rubrics`.

        Raises:
            GateError: Nobody is there to judge, or a rubric has the id of a built-in criterion.
            ConfigError: The file of rubrics is malformed.
        """
        if roles.judge is None:
            raise GateError("gate 'rubric-judge' needs somebody who reads: name a model with --judge")
        added = read_rubrics(settings.rubrics, must_exist=True).active if settings.rubrics is not None else ()
        built_in = built_in_criteria()
        taken = sorted({criterion.id for criterion in built_in} & {rubric.id for rubric in added})
        if taken:
            raise GateError(f"{settings.rubrics}: {taken[0]!r} is the id of a built-in criterion; choose another")
        return cls(roles.judge, (*built_in, *(Criterion(rubric.id, rubric.text) for rubric in added)))

    async def check(self, candidate: Candidate, _: Sandboxes) -> Verdict:
        """Judges the candidate by what the judge says."""
        try:
            opinions = await self._judge.judge(candidate.task, self.criteria)
        except GateError as error:
            return infrastructure(self.name, "unanswered", repeatable(str(error)))
        texts = {criterion.id: criterion.text for criterion in self.criteria}
        unsaid = sorted(set(texts) - {opinion.criterion for opinion in opinions})
        if unsaid:  # what nobody looked at does not hold by that
            said = f"the judge {self._judge.name} said nothing about {', '.join(unsaid)}"
            return infrastructure(self.name, "unanswered", said)
        found = [
            finding(self.name, opinion.criterion, f"{texts[opinion.criterion]}\n  {repeatable(opinion.reason)}")
            for opinion in opinions
            if not opinion.passed and opinion.criterion in texts
        ]
        return judged(self.name, found, {"criteria": len(self.criteria)})
