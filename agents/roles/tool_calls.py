"""The tool calls of an answer: read with whatever is wrong with them, kept in a form that can be sent again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage
from pydantic import ValidationError

from agents.excerpt import excerpt

if TYPE_CHECKING:
    from collections.abc import Sequence

_UNPARSED = 500  # characters of arguments that are not JSON, kept in the history


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """One tool call of an answer.

    Attributes:
        name: The tool it names.
        args: Its arguments; what could not be parsed stands, shortened, under `unparsed`.
        id: The call's id, made up where the model gave none.
        broken: What is wrong with it before any tool looks at it; "" when nothing is.
    """

    name: str
    args: dict[str, Any]
    id: str
    broken: str = ""


def read_calls(answer: AIMessage, turn: int) -> list[ToolRequest]:
    """The tool calls of a message; those that could not be read come first, so that nothing is submitted past them."""
    calls = []
    for number, bad in enumerate(answer.invalid_tool_calls, start=1):
        raw, name = str(bad["args"] or ""), bad["name"] or "unnamed"
        problem = _json_problem(raw) if raw or not bad["error"] else bad["error"]
        broken = f"the arguments of {name} are not a JSON object ({problem}); send them again"
        kept = {"unparsed": excerpt(raw, _UNPARSED)}
        calls.append(ToolRequest(name, kept, bad["id"] or f"call-{turn}-x{number}", broken))
    for number, good in enumerate(answer.tool_calls, start=1):
        calls.append(ToolRequest(good["name"], good["args"], good["id"] or f"call-{turn}-{number}"))
    return calls


def _json_problem(raw: str) -> str:
    try:
        found = json.loads(raw)
    except ValueError as error:
        return f"{error}; {len(raw)} characters"
    except RecursionError:
        return f"nested too deeply; {len(raw)} characters"
    return f"got {type(found).__name__}"


def as_history(answer: AIMessage, calls: Sequence[ToolRequest], longest: int) -> AIMessage:
    """The message as later turns read it: every call well formed, nothing huge to be paid for again each turn."""
    kept = {key: value for key, value in answer.additional_kwargs.items() if key not in ("tool_calls", "function_call")}
    return AIMessage(
        content=excerpt(answer.content, longest) if isinstance(answer.content, str) else answer.content,
        tool_calls=[
            {"name": call.name, "args": _shortened(call.args, longest), "id": call.id, "type": "tool_call"}
            for call in calls
        ],
        additional_kwargs=kept,
    )


def _shortened(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return excerpt(value, longest // 4, hint="cut in this history only") if len(value) > longest else value
    if isinstance(value, dict):
        return {key: _shortened(item, longest) for key, item in value.items()}
    if isinstance(value, list):
        return [_shortened(item, longest) for item in value]
    return value


def what_is_wrong(error: ValueError) -> str:
    """An error as a model can act on it: of a pydantic one, each field and what is wrong with it."""
    if not isinstance(error, ValidationError):
        return str(error)
    found = []
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        where = ".".join(str(part) for part in item["loc"])
        found.append(f"{where}: {item['msg']}" if where else item["msg"])
    return "; ".join(found)
