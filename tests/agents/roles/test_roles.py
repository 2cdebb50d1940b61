"""Proposer and critic: what they are told, and what they may hand in."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from agents.errors import RoleFailedError
from agents.model import ModelGateway
from agents.roles.critic import Critic
from agents.roles.proposer import Proposer, new_step_ids
from agents.roles.requests import Finding, Occasion, ProposalRequest, Review, ReviewRequest
from agents.scripted import ScriptedChatModel, calls
from evolution.journal import Journal
from evolution.plan import Axis, Effort, Plan
from evolution.sequence import Sequence, Step
from sandbox.task import Task

BEFORE = Sequence(
    steps=(
        Step(id="s1", scenario="order-ledger", skill="deduplicate"),
        Step(id="s2", scenario="order-ledger", skill="total"),
    )
)
NEW = Step(id="g1a", scenario="mixed-encodings", skill="encoding-repair")
AFTER = BEFORE.insert(1, (NEW,))


def occasion(tmp_path: Path, axis: Axis = Axis.LENGTH) -> Occasion:
    return Occasion(lineage="totals", generation=1, axis=axis, attempt=1, seed=5, transcript=tmp_path / "t.jsonl")


def proposal(parent: Task, tmp_path: Path, **given: Any) -> ProposalRequest:
    request = ProposalRequest(occasion=occasion(tmp_path), parent=parent, effort=Effort.HIGH, sequence=BEFORE)
    return replace(request, **given)


def submit(before: Sequence, after: Sequence, rationale: str = "harder") -> AIMessage:
    shape = {"before": before.model_dump(mode="json"), "after": after.model_dump(mode="json")}
    return calls(("submit_plan", {**shape, "rationale": rationale}))


def assignment_in(model: ScriptedChatModel) -> dict[str, Any]:
    blocks = re.findall(r"^```json\n(.*?)\n```$", str(model.seen[0][1].content), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    found: dict[str, Any] = json.loads(blocks[0])
    return found


async def test_a_plan_within_axis_and_effort_is_returned(parent: Task, journal: Journal, tmp_path: Path) -> None:
    model = ScriptedChatModel(script=[calls(("read_file", {"path": "instruction.md"})), submit(BEFORE, AFTER)])
    plan = await Proposer(ModelGateway(journal), model).propose(proposal(parent, tmp_path))
    assert plan == Plan(axis=Axis.LENGTH, effort=Effort.HIGH, before=BEFORE, after=AFTER, rationale="harder")
    assert "total of /app/orders.csv" in str(model.seen[1][-1].content)
    assert [key for key, _ in journal.entries("call")] == [
        "totals/g001/length/proposer/1/t001",
        "totals/g001/length/proposer/1/t002",
    ]


async def test_the_proposer_is_told_the_facts_in_one_block(parent: Task, journal: Journal, tmp_path: Path) -> None:
    model = ScriptedChatModel(script=[submit(BEFORE, AFTER)])
    feedback = (Finding(source="critic", code="plan/rejected", text="```json\nnot a block\n```"),)
    request = proposal(
        parent,
        tmp_path,
        feedback=feedback,
        scenario_surprisal={"order-ledger": 1.5},
        skill_surprisal={"order-ledger": {"total": 0.5}},
    )
    await Proposer(ModelGateway(journal), model).propose(request)
    assert assignment_in(model) == {
        "role": "proposer",
        "axis": "length",
        "effort": "high",
        "task": "tests/totals",
        "generation": 1,
        "sequence": BEFORE.model_dump(mode="json"),
        "new_step_ids": ["g1a", "g1b", "g1c", "g1d", "g1e", "g1f"],
        "reference": {"scenario": {"order-ledger": 1.5}, "skill": {"order-ledger": {"total": 0.5}}},
        "feedback": [{"source": "critic", "code": "plan/rejected", "text": "```json\nnot a block\n```"}],
    }


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (submit(BEFORE, BEFORE), "the plan changes nothing"),
        (submit(BEFORE, BEFORE.replace_skill(0, "other")), "axis length only inserts steps"),
        (submit(AFTER, AFTER.insert(0, (Step(id="g1b", scenario="a", skill="b"),))), "must be the recorded sequence"),
    ],
)
async def test_a_plan_that_breaks_the_rules_goes_back_once(
    answer: AIMessage, told: str, parent: Task, journal: Journal, tmp_path: Path
) -> None:
    model = ScriptedChatModel(script=[answer, submit(BEFORE, AFTER)])
    assert (await Proposer(ModelGateway(journal), model).propose(proposal(parent, tmp_path))).after == AFTER
    assert told in str(model.seen[1][-1].content)


async def test_a_second_bad_plan_is_a_failed_attempt(parent: Task, journal: Journal, tmp_path: Path) -> None:
    model = ScriptedChatModel(script=[submit(BEFORE, BEFORE)] * 2)
    with pytest.raises(RoleFailedError, match="proposer failed after 2 turn"):
        await Proposer(ModelGateway(journal), model).propose(proposal(parent, tmp_path))


async def test_effort_is_the_requests_not_the_models(parent: Task, journal: Journal, tmp_path: Path) -> None:
    two = BEFORE.insert(1, (NEW, NEW.model_copy(update={"id": "g1b"})))
    model = ScriptedChatModel(script=[submit(BEFORE, two), submit(BEFORE, AFTER)])
    request = proposal(parent, tmp_path, effort=Effort.LOW)
    assert (await Proposer(ModelGateway(journal), model).propose(request)).effort is Effort.LOW
    assert "effort low edits one pair, this plan edits 2" in str(model.seen[1][-1].content)


async def test_without_a_recorded_sequence_the_models_reading_counts(
    parent: Task, journal: Journal, tmp_path: Path
) -> None:
    steps = {"before": BEFORE.model_dump()["steps"], "after": AFTER.model_dump()["steps"], "rationale": "lists will do"}
    model = ScriptedChatModel(script=[calls(("submit_plan", steps))])
    plan = await Proposer(ModelGateway(journal), model).propose(proposal(parent, tmp_path, sequence=None))
    assert plan.before == BEFORE
    assert assignment_in(model)["sequence"] is None


def test_new_ids_are_ones_no_step_has() -> None:
    assert new_step_ids(3, ("s1", "g3a", "g3c"), 2) == ["g3b", "g3d"]


PLAN = Plan(axis=Axis.LENGTH, effort=Effort.HIGH, before=BEFORE, after=AFTER, rationale="because `of` this")


def review(parent: Task, tmp_path: Path) -> ReviewRequest:
    return ReviewRequest(
        occasion=occasion(tmp_path), parent=parent, plan=PLAN, difficulty_before=2.0004, difficulty_after=5.0
    )


async def test_the_critic_reviews_a_plan(parent: Task, journal: Journal, tmp_path: Path) -> None:
    model = ScriptedChatModel(
        script=[calls(("submit_review", {"accepted": False, "findings": ["g1a bears no load", " "]}))]
    )
    critic = Critic(ModelGateway(journal), model, rubrics=["No task about cats."])
    assert await critic.review(review(parent, tmp_path)) == Review(accepted=False, findings=("g1a bears no load",))
    assert assignment_in(model) == {
        "role": "critic",
        "task": "tests/totals",
        "plan": PLAN.model_dump(mode="json"),
        "difficulty": {"before": 2.0, "after": 5.0},
    }
    assert "- No task about cats." in str(model.seen[0][0].content)


async def test_a_rejection_needs_a_reason(parent: Task, journal: Journal, tmp_path: Path) -> None:
    model = ScriptedChatModel(
        script=[calls(("submit_review", {"accepted": False})), calls(("submit_review", {"accepted": True}))]
    )
    assert await Critic(ModelGateway(journal), model).review(review(parent, tmp_path)) == Review(accepted=True)
    assert "needs at least one finding" in str(model.seen[1][-1].content)
