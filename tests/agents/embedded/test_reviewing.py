"""The critic reviews plans by rules and says what to change."""

import pytest

from agents.tools import reading_tools
from agents.workspace import FolderWorkspace
from evolution.plan import Axis, Effort


async def review(host, task, plan, difficulty=None):
    facts = {"role": "critic", "task": task.name, "plan": plan, "difficulty": difficulty}
    ended = await host.converse(facts, reading_tools(FolderWorkspace(task.root)), "submit_review")
    assert ended.submitted is not None
    assert ended.submitted["accepted"] is (not ended.submitted["findings"])
    return ended.submitted["findings"]


def plan_of(axis, effort, before, after, rationale="because"):
    return {"axis": axis, "effort": effort, "before": before, "after": after, "rationale": rationale}


def step(name, scenario="web-access-logs", skill="filter-and-total"):
    return {"id": name, "scenario": scenario, "skill": skill}


ONE = [step("s1")]
TWO = [step("s1"), step("s2", "order-ledger")]


@pytest.mark.parametrize("axis", list(Axis))
@pytest.mark.parametrize("effort", list(Effort))
async def test_what_the_proposer_plans_is_accepted(host, library_task, axis, effort):
    plan = await host.plan(library_task, axis, effort)
    assert await review(host, library_task, plan.model_dump(mode="json"), {"before": 3.0, "after": 4.5}) == []


@pytest.mark.parametrize(
    ("plan", "difficulty", "says"),
    [
        (plan_of("length", "low", ONE, ONE), None, "changes nothing"),
        (
            plan_of("scenario", "low", TWO, [step("s1", "order-ledger", "top-k-ties"), TWO[1]]),
            None,
            "must keep each step's skill",
        ),
        (
            plan_of("length", "low", ONE, [step("g1a", "order-ledger"), step("g1b", "sensor-telemetry"), *ONE]),
            None,
            "one pair",
        ),
        (plan_of("length", "low", ONE, [step("g1a"), *ONE]), None, "comes twice"),
        (plan_of("length", "low", ONE, [step("g1a", "moon-base"), *ONE]), None, "scenario 'moon-base'"),
        (plan_of("length", "low", ONE, [step("g1a", skill="juggling"), *ONE]), None, "skill 'juggling'"),
        (
            plan_of("length", "high", ONE, [*ONE, step("g1a", "order-ledger"), step("g1b", "sensor-telemetry")]),
            None,
            "come after all",
        ),
        (plan_of("length", "low", ONE, [step("g1a", "order-ledger"), *ONE], rationale=" "), None, "rationale is empty"),
        (
            plan_of("length", "low", ONE, [step("g1a", "order-ledger"), *ONE]),
            {"before": 5.0, "after": 5.0},
            "not harder",
        ),
    ],
)
async def test_a_plan_that_breaks_a_rule_is_turned_down_with_the_reason(host, library_task, plan, difficulty, says):
    findings = await review(host, library_task, plan, difficulty)
    assert any(says in finding for finding in findings), findings
