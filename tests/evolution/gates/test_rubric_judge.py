"""The gate that has somebody read a task; who reads is scripted here."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from evolution.gates.errors import GateError
from evolution.gates.roles import Criterion, Opinion, Roles
from evolution.gates.rubric_judge import RubricJudgeGate, built_in_criteria
from evolution.gates.settings import GateSettings
from evolution.rubrics import Rubric, Rubrics, write_rubrics
from evolution.verdict import VerdictClass


@dataclass
class Reader:
    fails: dict[str, str]
    leaves_out: tuple[str, ...] = ()
    error: str = ""
    name: str = "reader"

    async def judge(self, task, criteria):
        self.asked = criteria
        if self.error:
            raise GateError(self.error)
        return tuple(
            Opinion(c.id, c.id not in self.fails, self.fails.get(c.id, ""))
            for c in criteria
            if c.id not in self.leaves_out
        )


async def test_each_criterion_that_does_not_hold_is_a_finding(only_files, seed):
    verdict = await only_files(
        RubricJudgeGate(Reader({"spelling": "instruction.md:1 says x", "outputs-named": "no /app/b"})), seed
    )
    assert (verdict.verdict_class, verdict.code) == (VerdictClass.INVALID, "rubric-judge/spelling")
    assert [one.code for one in verdict.findings] == ["rubric-judge/spelling", "rubric-judge/outputs-named"]
    assert "instruction.md:1 says x" in verdict.findings[0].message
    assert (await only_files(RubricJudgeGate(Reader({})), seed)).passed


@pytest.mark.parametrize(
    ("reader", "said"),
    [
        (Reader({}, error="it declined"), "it declined"),
        (Reader({}, leaves_out=("spelling",)), "nothing about spelling"),
    ],
)
async def test_a_judge_that_says_too_little_is_no_judgement_of_the_task(only_files, seed, reader, said):
    verdict = await only_files(RubricJudgeGate(reader), seed)
    assert (verdict.verdict_class, verdict.code) == (VerdictClass.INFRASTRUCTURE, "rubric-judge/unanswered")
    assert said in verdict.evidence


def test_rubrics_that_people_added_are_asked_too(tmp_path):
    path = tmp_path / "rubrics.yaml"
    write_rubrics(
        Rubrics(rubrics=(Rubric(id="r001", text="No dates."), Rubric(id="r002", text="Off.", active=False))), path
    )
    gate = RubricJudgeGate.configured(GateSettings(rubrics=path), Roles(judge=Reader({})))
    assert gate.criteria == (*built_in_criteria(), Criterion("r001", "No dates."))
    write_rubrics(Rubrics(rubrics=(Rubric(id="spelling", text="Mine."),)), path)
    with pytest.raises(GateError, match="'spelling' is the id of a built-in criterion"):
        RubricJudgeGate.configured(GateSettings(rubrics=path), Roles(judge=Reader({})))
    with pytest.raises(GateError, match="--judge"):
        RubricJudgeGate.configured(GateSettings(), Roles())


def test_the_built_in_criteria_have_ids_and_texts_of_their_own():
    criteria = built_in_criteria()
    assert (
        len({criterion.id for criterion in criteria})
        == len({criterion.text for criterion in criteria})
        == len(criteria)
    )
    assert all(criterion.text.endswith(".") for criterion in criteria)
