"""What a conversation has come to: the assignment, the answered tool calls, and the next thing a script says.

A role of the embedded author is written as a *script*: a generator that yields batches of tool calls, is sent their
results and returns its closing words. A model keeps no state between two requests, so neither may the author: each
request replays the script from its start over the results that the history holds, and the first batch without an
answer is the next message. That makes the author a function of the messages, and the scripts read top to bottom.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from agents.embedded.shown_files import OPENING

Message: TypeAlias = Mapping[str, object]
FENCE = re.compile(r"^```json[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
DECLINE = "decline"
FAILED = "error:"
UNANSWERED = f"{FAILED} no result of this call is in the conversation"


class ConversationError(ValueError):
    """The messages are not a conversation the author can take part in: says what is missing and what is expected."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call.

    Attributes:
        tool: The tool's name.
        arguments: What it is called with; JSON values only.
    """

    tool: str
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """What came back of a call.

    Attributes:
        text: The tool message's text.
    """

    text: str

    @property
    def failed(self) -> bool:
        """Whether the tool refused or failed."""
        return self.text.startswith(FAILED)


Batch: TypeAlias = tuple[Call, ...]
Results: TypeAlias = tuple[Result, ...]
Script: TypeAlias = Generator[Batch, Results, str]


class CannotError(Exception):
    """The author cannot do what it was asked: the reason, told to the host by `decline`."""


def assignment_of(messages: Sequence[Message]) -> Mapping[str, object]:
    """The assignment: the JSON object in the one fenced block of the first user message.

    Raises:
        ConversationError: There is no user message, or it holds no such block, or several.
    """
    # What is shown of the task's files comes behind the assignment, and may hold blocks of its own.
    blocks = FENCE.findall(first_message(messages).partition(OPENING)[0])
    if len(blocks) != 1:
        raise ConversationError(f"the first user message holds {len(blocks)} ```json blocks: expected exactly one")
    try:
        value = json.loads(blocks[0])
    except json.JSONDecodeError as error:
        raise ConversationError(f"the assignment is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ConversationError(f"the assignment must be a JSON object, got {type(value).__name__}")
    return value


def first_message(messages: Sequence[Message]) -> str:
    """The text of the first user message.

    Raises:
        ConversationError: There is none.
    """
    first = next((message for message in messages if message.get("role") == "user"), None)
    if first is None:
        raise ConversationError("no user message: expected one that holds the assignment in a ```json block")
    return text_of(first)


def text_of(message: Message) -> str:
    """A message's text; content that comes in parts is joined."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
    return "".join(part for part in parts if isinstance(part, str))


def rounds_of(messages: Sequence[Message]) -> tuple[Results, ...]:
    """The results of each assistant message that called tools, in the order of its calls."""
    rounds: list[tuple[list[str], dict[str, str]]] = []
    for message in messages:
        calls = message.get("tool_calls")
        if message.get("role") == "assistant" and isinstance(calls, Sequence) and calls:
            rounds.append(([str(call["id"]) for call in calls], {}))
        elif message.get("role") == "tool" and rounds:
            rounds[-1][1][str(message.get("tool_call_id"))] = text_of(message)
    return tuple(tuple(Result(got.get(key, UNANSWERED)) for key in ids) for ids, got in rounds)


def continue_script(script: Script, messages: Sequence[Message], *, may_decline: bool = False) -> dict[str, object]:
    """The assistant message that comes next: the script replayed over what the conversation has answered so far.

    A script that gives up calls `decline` where the request offers that tool, else it says so in plain text.
    """
    turn = 0
    try:
        batch = next(script)
        for results in rounds_of(messages):
            turn += 1
            batch = script.send(_fitted(results, len(batch)))
    except StopIteration as end:
        return {"role": "assistant", "content": str(end.value)}
    except CannotError as reason:
        if not may_decline:
            return {"role": "assistant", "content": f"cannot: {reason}"}
        batch = (Call(DECLINE, {"reason": str(reason)}),)
    return {"role": "assistant", "content": None, "tool_calls": [_call(call, turn, i) for i, call in enumerate(batch)]}


def _fitted(results: Results, count: int) -> Results:
    """As many results as were asked for: a batch that the host cut short still gets an answer for each call."""
    return (*results, *(Result(UNANSWERED) for _ in range(count)))[:count]


def _call(call: Call, turn: int, index: int) -> dict[str, object]:
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False, sort_keys=True)
    return {"id": f"call_{turn}_{index}", "type": "function", "function": {"name": call.tool, "arguments": arguments}}
