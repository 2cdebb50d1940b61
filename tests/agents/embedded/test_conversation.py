"""A conversation is replayed from its messages; the author keeps nothing else."""

import json

import pytest

from agents.embedded.author import respond
from agents.embedded.conversation import (
    UNANSWERED,
    Call,
    CannotError,
    ConversationError,
    assignment_of,
    continue_script,
)
from agents.embedded.options import Options

TOOLS = [{"type": "function", "function": {"name": name}} for name in ("list_files", "read_file", "submit_plan")]


def user(text):
    return {"role": "user", "content": text}


def test_the_assignment_is_the_fenced_object_of_the_first_user_message():
    messages = [
        {"role": "system", "content": '```json\n{"no": 1}\n```'},
        user('Do:\n```json\n{"role": "critic"}\n```\nNow.'),
    ]
    assert assignment_of(messages) == {"role": "critic"}
    assert assignment_of([user([{"type": "text", "text": '```json\n{"a": 1}\n```'}])]) == {"a": 1}


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([], "no user message"),
        ([user("plain words")], "0 ```json blocks"),
        ([user("```json\n{}\n```\n```json\n{}\n```")], "2 ```json blocks"),
        ([user("```json\n{oops\n```")], "not JSON"),
        ([user("```json\n[1]\n```")], "must be a JSON object"),
    ],
)
def test_other_messages_are_refused_with_what_is_missing(messages, says):
    with pytest.raises(ConversationError, match=says):
        assignment_of(messages)


def two_rounds():
    first = yield (Call("read_file", {"path": "a"}), Call("read_file", {"path": "b"}))
    second = yield (Call("submit", {"got": [result.text for result in first]}),)
    return f"done: {second[0].text}"


def assistant(*ids):
    return {"role": "assistant", "content": "", "tool_calls": [{"id": each, "function": {}} for each in ids]}


def answered(key, text):
    return {"role": "tool", "tool_call_id": key, "content": text}


def test_a_script_goes_on_where_the_answers_end():
    start = continue_script(two_rounds(), [])
    assert [call["id"] for call in start["tool_calls"]] == ["call_0_0", "call_0_1"]
    history = [assistant("x", "y"), answered("y", "B"), answered("x", "A")]
    message = continue_script(two_rounds(), history)
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"got": ["A", "B"]}
    assert message["tool_calls"][0]["id"] == "call_1_0"
    history += [assistant("z"), answered("z", "fine")]
    last = {"role": "assistant", "content": "done: fine"}
    assert continue_script(two_rounds(), history) == last
    assert continue_script(two_rounds(), [*history, last, user("Please call a tool.")]) == last


def test_a_call_that_was_never_answered_counts_as_failed():
    message = continue_script(two_rounds(), [assistant("x"), answered("x", "A")])
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"got": ["A", UNANSWERED]}


def test_giving_up_is_a_message_without_a_tool_call():
    def hopeless():
        yield (Call("list_files"),)
        raise CannotError("there is nothing here")

    message = continue_script(hopeless(), [assistant("x"), answered("x", "(no files)")])
    assert message == {"role": "assistant", "content": "cannot: there is nothing here"}


def test_where_it_may_decline_giving_up_is_a_call():
    def hopeless():
        yield (Call("list_files"),)
        raise CannotError("there is nothing here")

    message = continue_script(hopeless(), [assistant("x"), answered("x", "(no files)")], may_decline=True)
    (call,) = message["tool_calls"]
    assert call["function"]["name"] == "decline"
    assert json.loads(call["function"]["arguments"]) == {"reason": "there is nothing here"}


def test_unknown_roles_and_missing_tools_are_named():
    with pytest.raises(ConversationError, match="'poet'"):
        respond([user('```json\n{"role": "poet"}\n```')], TOOLS, None)
    with pytest.raises(ConversationError, match="submit_review"):
        respond([user('```json\n{"role": "critic"}\n```')], TOOLS, None)


def test_model_names():
    assert Options.of("author") == Options.of("embedded/author") == Options()
    assert Options.of("embedded/author?faults=0.3") == Options(faults=0.3)
    with pytest.raises(ConversationError, match="no embedded model 'poet'"):
        Options.of("poet")
    with pytest.raises(ConversationError, match="no option 'wit'"):
        Options.of("author?wit=1")
    for wrong in ("all", "1.5", "-1", "nan", ""):
        with pytest.raises(ConversationError, match="expected a number from 0 to 1"):
            Options.of(f"author?faults={wrong}")
