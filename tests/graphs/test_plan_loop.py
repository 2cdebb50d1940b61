"""The plan loop: what goes back to the proposer, and when it ends."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agents.errors import RoleDeclinedError, RoleFailedError
from agents.roles.requests import ProposalRequest, Review, ReviewRequest
from evolution.plan import Axis, Effort, Plan
from evolution.reference import FrequencyTable
from evolution.sequence import Sequence, Step
from graphs.plan_loop import build_plan_loop

TASK = Path(__file__).parents[1] / "data" / "foreign" / "layered-settings"
REFERENCE = FrequencyTable("terminal", {"logs": {"count": 90, "join": 10}, "mail": {"count": 1, "join": 0}}, "made up")
BEFORE = Sequence(steps=(Step(id="s1", scenario="logs", skill="count"),))


def longer(*pairs: tuple[str, str]) -> Plan:
    steps = tuple(Step(id=f"n{i}", scenario=scenario, skill=skill) for i, (scenario, skill) in enumerate(pairs))
    return Plan(axis=Axis.LENGTH, effort=Effort.HIGH, before=BEFORE, after=BEFORE.insert(1, steps))


@dataclass
class Proposer:
    plans: list[Plan | Exception]
    asked: list[ProposalRequest] = field(default_factory=list)

    async def propose(self, request: ProposalRequest) -> Plan:
        self.asked.append(request)
        answer = self.plans[len(self.asked) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


@dataclass
class Critic:
    reviews: list[Review]
    asked: list[ReviewRequest] = field(default_factory=list)

    async def review(self, request: ReviewRequest) -> Review:
        self.asked.append(request)
        return self.reviews[len(self.asked) - 1]


def start(tmp_path: Path, axis: Axis = Axis.LENGTH, effort: Effort = Effort.HIGH) -> dict:
    return {
        "lineage": "l",
        "generation": 1,
        "seed": 7,
        "parent": str(TASK),
        "work": str(tmp_path),
        "effort": str(effort),
        "axis": str(axis),
    }


async def run(proposer: Proposer, critic: Critic, state: dict, attempts: int = 3) -> dict:
    return await build_plan_loop(proposer, critic, reference=REFERENCE, attempts=attempts).compile().ainvoke(state)


async def test_an_accepted_plan_ends_the_loop(tmp_path: Path) -> None:
    plan = longer(("mail", "count"))
    final = await run(Proposer([plan]), Critic([Review(accepted=True)]), start(tmp_path))
    assert final["outcome"] == "accepted"
    assert Plan.model_validate(final["plan"]) == plan


async def test_what_the_critic_found_reaches_the_proposer(tmp_path: Path) -> None:
    proposer = Proposer([longer(("mail", "count")), longer(("mail", "join"))])
    critic = Critic([Review(accepted=False, findings=("the mail is never needed",)), Review(accepted=True)])
    final = await run(proposer, critic, start(tmp_path))
    assert [finding.text for finding in proposer.asked[1].feedback] == ["the mail is never needed"]
    assert final["outcome"] == "accepted"
    assert [(a["result"], a["gate"]) for a in final["history"]] == [("invalid", "critic"), ("accepted", "")]


async def test_the_critic_is_told_the_difficulty_of_both(tmp_path: Path) -> None:
    critic = Critic([Review(accepted=True)])
    await run(Proposer([longer(("mail", "count"))]), critic, start(tmp_path))
    assert 0 < critic.asked[0].difficulty_before < critic.asked[0].difficulty_after


async def test_attempts_are_bounded_and_the_last_reason_is_kept(tmp_path: Path) -> None:
    proposer = Proposer([longer(("mail", "count"))] * 5)
    critic = Critic([Review(accepted=False, findings=(f"no {i}",)) for i in range(5)])
    final = await run(proposer, critic, start(tmp_path), attempts=2)
    assert final["outcome"] == "rejected"
    assert final["reason"] == "no 1"
    assert len(proposer.asked) == 2


async def test_a_proposer_without_a_plan_is_a_failed_attempt_not_an_error(tmp_path: Path) -> None:
    failed = RoleFailedError("proposer", "cannot: nothing left to insert", turns=2)
    final = await run(Proposer([failed, longer(("mail", "join"))]), Critic([Review(accepted=True)]), start(tmp_path))
    assert final["outcome"] == "accepted"
    assert final["history"][0]["code"] == "plan/none"


async def test_a_proposer_that_declines_is_not_asked_again(tmp_path: Path) -> None:
    proposer = Proposer([RoleDeclinedError("proposer", "nothing is rarer", turns=2)] * 3)
    final = await run(proposer, Critic([]), start(tmp_path))
    assert len(proposer.asked) == 1
    assert final["outcome"] == "rejected"
    assert [attempt["code"] for attempt in final["history"]] == ["plan/declined"]


@pytest.mark.parametrize(("effort", "outcome"), [(Effort.HIGH, "rejected"), (Effort.LOW, "accepted")])
async def test_a_plan_must_raise_the_difficulty_unless_effort_is_low(
    tmp_path: Path, effort: Effort, outcome: str
) -> None:
    before = Sequence(steps=(Step(id="s1", scenario="mail", skill="join"),))
    easier = Plan(axis=Axis.SKILL, effort=effort, before=before, after=before.replace_skill(0, "count"))
    critic = Critic([Review(accepted=True)])
    final = await run(Proposer([easier] * 3), critic, start(tmp_path, Axis.SKILL, effort))
    assert final["outcome"] == outcome
    if outcome == "rejected":
        assert not critic.asked
        assert {a["code"] for a in final["history"]} == {"plan/not-harder"}


async def test_seeds_differ_by_attempt_and_role_and_repeat_by_run(tmp_path: Path) -> None:
    def seeds() -> tuple[Proposer, Critic]:
        reject = Review(accepted=False, findings=("no",))
        return Proposer([longer(("mail", "count"))] * 2), Critic([reject, reject])

    first, second = seeds(), seeds()
    for proposer, critic in (first, second):
        await run(proposer, critic, start(tmp_path), attempts=2)
    numbers = [request.occasion.seed for role in first for request in role.asked]
    assert len(set(numbers)) == 4
    assert numbers == [request.occasion.seed for role in second for request in role.asked]
