"""A conversation with a scripted model: repairs, limits, and what later turns are shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException

from agents.errors import ContextOverflowError, RoleDeclinedError, RoleFailedError
from agents.roles.session import RoleSession, SessionLimits, Submission
from agents.scripted import ScriptedChatModel, calls
from agents.tools import Arguments, error_text

DONE = calls(("hand_in", {"number": 4}))


class Note(Arguments):
    text: str


class HandIn(Arguments):
    number: int


def noting(log: list[str]) -> BaseTool:
    async def note(text: str) -> str:
        if text == "bad":
            raise ToolException("cannot note that")
        log.append(text)
        return f"noted {text}"

    return StructuredTool.from_function(
        coroutine=note, name="note", description="Notes.", args_schema=Note, handle_tool_error=error_text
    )


def even(given: HandIn) -> int:
    if given.number % 2:
        raise ValueError(f"{given.number} is odd")
    return given.number


def session(
    *script: AIMessage | Exception, log: list[str] | None = None, transcript: Path | None = None, **limits: Any
) -> tuple[RoleSession[int], ScriptedChatModel]:
    model = ScriptedChatModel(script=list(script))
    made = RoleSession(
        model,
        role="tester",
        system="You test.",
        assignment="Test.",
        tools=[noting([] if log is None else log)],
        submission=Submission("hand_in", "Hands in.", HandIn, even),
        limits=SessionLimits(**limits),
        transcript=transcript,
    )
    return made, model


def broken(raw: str, *good: tuple[str, dict[str, Any]]) -> AIMessage:
    bad = {"name": "note", "args": raw, "id": "bad", "error": None, "type": "invalid_tool_call"}
    return calls(*good).model_copy(update={"invalid_tool_calls": [bad]})


def last_results(model: ScriptedChatModel) -> list[str]:
    history = model.seen[-1]
    start = max(i for i, message in enumerate(history) if isinstance(message, AIMessage))
    return [str(message.content) for message in history[start + 1 :]]


async def test_calls_of_one_message_run_in_order_until_the_work_is_handed_in() -> None:
    log: list[str] = []
    made, model = session(
        calls(("note", {"text": "a"}), ("note", {"text": "b"})),
        calls(("note", {"text": "c"}), ("hand_in", {"number": 4}), ("note", {"text": "after the end"})),
        log=log,
    )
    assert await made.run() == 4
    assert log == ["a", "b", "c"]
    assert [tool["function"]["name"] for tool in model.parameters[0]["tools"]] == ["note", "hand_in"]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (AIMessage("I think it is four."), "Please answer with a tool call (note, hand_in)"),
        (calls(("shout", {"text": "a"})), "error: there is no tool 'shout'; the tools are note, hand_in"),
        (calls(("note", {"txt": "a"})), "error: wrong arguments of note: text: Field required; txt: Extra inputs"),
        (calls(("hand_in", {"number": "four"})), "error: wrong arguments of hand_in: number: Input should be"),
        (broken('{"text": "a'), "error: the arguments of note are not a JSON object (Unterminated string"),
        (broken("[1]"), "error: the arguments of note are not a JSON object (got list)"),
    ],
)
async def test_an_unusable_answer_is_repaired_with_the_error_shown(answer: AIMessage, told: str) -> None:
    made, model = session(answer, DONE)
    assert await made.run() == 4
    assert last_results(model)[0].startswith(told)


async def test_repairs_in_a_row_are_limited_and_a_good_turn_starts_anew() -> None:
    prose, good = AIMessage("hm"), calls(("note", {"text": "a"}))
    made, _ = session(prose, prose, good, prose, prose, DONE)
    assert await made.run() == 4
    made, model = session(prose, prose, prose, DONE)
    with pytest.raises(RoleFailedError, match="3 unusable answers in a row") as caught:
        await made.run()
    assert (caught.value.role, caught.value.turns, caught.value.last_said) == ("tester", 3, "hm")
    assert len(model.seen) == 3


async def test_an_answer_cut_at_the_token_limit_is_told_so() -> None:
    made, model = session(AIMessage("so lo", response_metadata={"finish_reason": "length"}), DONE)
    await made.run()
    assert "cut off at the token limit" in last_results(model)[0]


async def test_work_that_does_not_hold_goes_back_once() -> None:
    odd = calls(("hand_in", {"number": 3}))
    made, model = session(odd, DONE)
    assert await made.run() == 4
    assert last_results(model) == ["error: 3 is odd; correct it and call hand_in again"]
    made, _ = session(odd, odd, DONE)
    with pytest.raises(RoleFailedError, match="does not hold, again: 3 is odd"):
        await made.run()


@pytest.mark.parametrize("first", [("note", {"text": "bad"}), ("note", {}), ("shout", {})])
async def test_nothing_is_submitted_past_a_failed_call_of_the_same_message(first: tuple[str, dict[str, Any]]) -> None:
    made, model = session(calls(first, ("hand_in", {"number": 2})), DONE)
    assert await made.run() == 4
    assert last_results(model)[1].startswith("error: not submitted, because the call of")


async def test_limits_are_reported_when_met() -> None:
    made, _ = session(*[calls(("note", {"text": "a"}))] * 5, turns=3)
    with pytest.raises(RoleFailedError, match="did not call hand_in within the limit of 3 turns") as caught:
        await made.run()
    assert caught.value.last_said == "note"
    costly = calls(("note", {"text": "a"})).model_copy(
        update={"usage_metadata": {"input_tokens": 600, "output_tokens": 0, "total_tokens": 600}}
    )
    made, model = session(costly, costly, costly, tokens=1000)
    with pytest.raises(RoleFailedError, match="used 1200 tokens, the limit is 1000"):
        await made.run()
    assert len(model.seen) == 2


async def test_a_conversation_that_bursts_the_context_is_a_failed_attempt() -> None:
    made, _ = session(calls(("note", {"text": "a"})), ContextOverflowError("too long"))
    with pytest.raises(RoleFailedError, match="too long"):
        await made.run()


async def test_huge_arguments_are_cut_in_the_history_but_used_whole() -> None:
    log: list[str] = []
    made, model = session(
        calls(("note", {"text": "x" * 100_000})),
        broken('{"text": "' + "y" * 1_900_000),
        DONE,
        log=log,
        argument_characters=1000,
    )
    await made.run()
    assert len(log[0]) == 100_000
    sent = json.dumps([message.model_dump() for message in model.seen[-1] if isinstance(message, AIMessage)])
    assert len(sent) < 5000
    assert "characters left out; cut in this history only" in sent


async def test_every_call_in_the_history_is_well_formed_and_answered() -> None:
    made, model = session(
        broken("{", ("note", {"text": "a"})),
        AIMessage("", tool_calls=[{"name": "note", "args": {"text": "b"}, "id": None, "type": "tool_call"}]),
        DONE,
    )
    await made.run()
    asked = [c["id"] for m in model.seen[-1] if isinstance(m, AIMessage) for c in m.tool_calls]
    answered = [m.tool_call_id for m in model.seen[-1] if isinstance(m, ToolMessage)]
    assert asked == answered
    assert None not in asked
    assert not any(m.invalid_tool_calls for m in model.seen[-1] if isinstance(m, AIMessage))


async def test_long_results_are_cut_with_head_and_tail() -> None:
    made, model = session(calls(("note", {"text": "a" * 600 + "z"})), DONE, result_characters=100)
    await made.run()
    (result,) = last_results(model)
    assert result.startswith("noted aaa")
    assert result.endswith("z")
    assert "characters left out" in result


async def test_the_transcript_holds_the_conversation_once_even_when_replayed(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "tester-1.jsonl"
    for _ in range(2):
        made, _ = session(calls(("note", {"text": "a"})), DONE, transcript=path)
        await made.run()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["turn"], line["type"]) for line in lines] == [
        (0, "system"),
        (0, "human"),
        (1, "ai"),
        (1, "tool"),
        (2, "ai"),
    ]
    assert lines[2]["tool_calls"] == [{"name": "note", "args": {"text": "a"}}]
    assert lines[3]["content"] == "noted a"


async def test_the_first_message_is_the_assignment() -> None:
    made, model = session(DONE)
    await made.run()
    assert isinstance(model.seen[0][1], HumanMessage)
    assert [m.content for m in model.seen[0]] == ["You test.", "Test."]


@pytest.mark.parametrize("offered", [True, False])
async def test_a_role_may_decline_where_it_is_offered(offered: bool) -> None:
    model = ScriptedChatModel(script=[calls(("decline", {"reason": "there is no such number"})), DONE])
    made = RoleSession(
        model,
        role="tester",
        system="You test.",
        assignment="Test.",
        tools=[],
        submission=Submission("hand_in", "Hands in.", HandIn, even),
        limits=SessionLimits(),
        may_decline=offered,
    )
    if offered:
        with pytest.raises(RoleDeclinedError, match="there is no such number"):
            await made.run()
    else:
        assert await made.run() == 4
