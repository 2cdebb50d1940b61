"""The judge and the author of alternatives: what they are told, what they may hand in, what their failures become."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from agents.budget import Budget
from agents.errors import ModelUnavailableError
from agents.metered import Patience
from agents.model import ModelGateway
from agents.roles.alternatives import ModelAuthor
from agents.roles.judge import ModelJudge
from agents.scripted import ScriptedChatModel, calls
from evolution.gates.errors import GateError
from evolution.gates.roles import Alternative, Criterion, Opinion
from evolution.gates.rubric_judge import RubricJudgeGate
from evolution.journal import Journal
from evolution.verdict import Candidate
from sandbox.task import Task

CRITERIA = (Criterion("clear", "Everything is\n  said."), Criterion("fair", "Nothing is unfair."))


def gateway(journal: Journal, **given: Any) -> ModelGateway:
    return ModelGateway(journal, patience=Patience(attempts=2, sleep=lambda _: asyncio.sleep(0)), **given)


def opinions(**holds: bool | str) -> AIMessage:
    given = [
        {"criterion": name, "holds": said is True, "reason": said if isinstance(said, str) else ""}
        for name, said in holds.items()
    ]
    return calls(("submit_opinions", {"opinions": given}))


GOOD = opinions(clear=True, fair="tests/test.sh:1 always gives 0")


async def test_a_judge_reads_the_files_and_gives_one_opinion_for_each_criterion(parent: Task, journal: Journal) -> None:
    model = ScriptedChatModel(script=[calls(("read_file", {"path": "tests/test.sh"})), GOOD])
    found = await ModelJudge(gateway(journal), model).judge(parent, CRITERIA)
    assert found == (Opinion("clear", True), Opinion("fair", False, "tests/test.sh:1 always gives 0"))
    assert "- `clear`: Everything is said." in str(model.seen[0][1].content)
    assert "reward.txt" in str(model.seen[1][-1].content)
    assert {tool["function"]["name"] for tool in model.parameters[0]["tools"]} == {
        "list_files",
        "read_file",
        "submit_opinions",
    }


TWICE = calls(
    ("submit_opinions", {"opinions": [{"criterion": name, "holds": True} for name in ("clear", "fair", "fair")]})
)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (opinions(clear=True), "missing: fair"),
        (opinions(clear=True, fair=True, funny=True), "no criterion: funny"),
        (TWICE, "given more than once: fair"),
        (opinions(clear=True, fair=" "), "fair: say why it does not hold"),
    ],
)
async def test_what_does_not_fit_goes_back_once(parent: Task, journal: Journal, wrong: AIMessage, said: str) -> None:
    model = ScriptedChatModel(script=[wrong, GOOD])
    assert len(await ModelJudge(gateway(journal), model).judge(parent, CRITERIA)) == 2
    assert said in str(model.seen[1][-1].content)
    again = ScriptedChatModel(script=[wrong, wrong])
    with pytest.raises(GateError, match="does not hold, again"):
        await ModelJudge(gateway(journal), again).judge(parent, CRITERIA[::-1])  # another conversation


async def test_an_outage_and_a_budget_that_is_used_up_are_no_judgement(parent: Task, journal: Journal) -> None:
    down = ModelJudge(gateway(journal), ScriptedChatModel(script=[ModelUnavailableError("down")] * 2))
    over = ModelJudge(gateway(journal, budget=Budget(calls=0)), ScriptedChatModel(script=[GOOD]))
    nowhere = ModelJudge(gateway(journal), "nowhere.at.all:model")
    for judge, said in ((down, "down"), (over, "limit of calls 0"), (nowhere, "cannot be loaded")):
        verdict = await RubricJudgeGate(judge, CRITERIA).check(Candidate(parent), None)  # type: ignore[arg-type]
        assert (verdict.verdict_class, verdict.code) == ("infrastructure", "rubric-judge/unanswered")
        assert said in verdict.evidence


async def test_a_finished_conversation_is_replayed_and_other_criteria_start_another(
    parent: Task, tmp_path: Path
) -> None:
    with Journal(tmp_path / "models.db") as journal:
        first = await ModelJudge(gateway(journal), ScriptedChatModel(script=[GOOD])).judge(parent, CRITERIA)
    with Journal(tmp_path / "models.db") as journal:
        silent = ScriptedChatModel(script=[])
        assert await ModelJudge(gateway(journal), silent).judge(parent, CRITERIA) == first
        more = ScriptedChatModel(script=[opinions(clear=True, fair=True, new=True)])
        found = await ModelJudge(gateway(journal), more).judge(parent, (*CRITERIA, Criterion("new", "It is new.")))
        assert [opinion.passed for opinion in found] == [True] * 3
        assert len(more.seen) == 1


async def test_a_judge_that_failed_is_asked_anew_and_another_server_too(parent: Task, journal: Journal) -> None:
    for answers in ([AIMessage("Nice.")] * 3, [AIMessage("Very nice.")] * 3):
        model = ScriptedChatModel(script=answers)
        with pytest.raises(GateError, match="handed in nothing"):
            await ModelJudge(gateway(journal), model).judge(parent, CRITERIA)
        assert model.seen, "the failed conversation was replayed"
    good = ScriptedChatModel(script=[GOOD])
    found = await ModelJudge(gateway(journal), good).judge(parent, CRITERIA)
    silent = ScriptedChatModel(script=[])
    assert await ModelJudge(gateway(journal), silent).judge(parent, CRITERIA) == found
    elsewhere = ScriptedChatModel(script=[GOOD])
    await ModelJudge(gateway(journal, api_base="http://elsewhere"), elsewhere).judge(parent, CRITERIA)
    assert len(elsewhere.seen) == 1


def solutions(*named: str) -> AIMessage:
    return calls(
        ("submit_solutions", {"solutions": [{"name": name, "script": f"#!/bin/bash\n# {name}\n"} for name in named]})
    )


async def test_an_author_hands_in_at_most_as_many_as_were_asked_for(parent: Task, journal: Journal) -> None:
    model = ScriptedChatModel(script=[solutions("awk", "awk"), solutions("awk", "perl", "sed")])
    found = await ModelAuthor(gateway(journal), model).alternatives(parent, 2)
    assert found == (Alternative("awk", "#!/bin/bash\n# awk\n"), Alternative("perl", "#!/bin/bash\n# perl\n"))
    assert "two solutions are called awk" in str(model.seen[1][-1].content)
    assert "at most 2" in str(model.seen[0][1].content)


@pytest.mark.parametrize("bad", ["../up", "", "a b", "-x"])
async def test_a_name_that_is_no_file_name_goes_back(parent: Task, journal: Journal, bad: str) -> None:
    model = ScriptedChatModel(script=[solutions(bad), solutions("good")])
    assert [one.name for one in await ModelAuthor(gateway(journal), model).alternatives(parent, 2)] == ["good"]


async def test_an_author_that_hands_in_nothing_is_told_of_as_such(parent: Task, journal: Journal) -> None:
    for script in ([AIMessage("No.")] * 3, [ModelUnavailableError("down")] * 2):
        with pytest.raises(GateError, match=r"handed in nothing for tests/totals"):
            await ModelAuthor(gateway(journal), ScriptedChatModel(script=script)).alternatives(parent, len(script))
