"""One finished model call as a value: what goes into the journal and comes back out of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from langchain_core.messages import AIMessage, InvalidToolCall, message_to_dict, messages_from_dict

if TYPE_CHECKING:
    from langchain_core.messages import ToolCall
    from langchain_core.outputs import ChatResult

# These hold the provider's own objects, which are not JSON, and repeat what `tool_calls` and `usage_metadata` say.
_REPEATED = frozenset({"tool_calls", "function_call"})
_DEEPEST = 100
_KEPT_METADATA = ("model_name", "model_provider", "finish_reason")


@dataclass(frozen=True, slots=True)
class Answer:
    """An AI message and what it cost.

    Attributes:
        message: Content, tool calls, usage; JSON all the way down.
        cost_usd: US dollars; `None` for a model without a known price.
        seconds: Wall-clock seconds of the request that was answered.
    """

    message: AIMessage
    cost_usd: float | None
    seconds: float

    @property
    def input_tokens(self) -> int:
        """Tokens read; cached ones are among them."""
        return self.message.usage_metadata["input_tokens"] if self.message.usage_metadata else 0

    @property
    def output_tokens(self) -> int:
        """Tokens written."""
        return self.message.usage_metadata["output_tokens"] if self.message.usage_metadata else 0

    @classmethod
    def of(cls, result: ChatResult, *, seconds: float, unpriced: float | None) -> Self:
        """The answer in a chat result; `unpriced` is its cost when the provider names none."""
        generation = result.generations[0]
        message = generation.message
        if not isinstance(message, AIMessage):
            raise TypeError(f"a chat model must answer with an AIMessage, got {type(message).__name__}")
        metadata = {**(generation.generation_info or {}), **message.response_metadata}
        calls = [(call, _is_shallow(call["args"])) for call in message.tool_calls]
        clean = AIMessage(
            # Blocks repeat the arguments of calls; what cannot be written down leaves the text of the message.
            content=message.content if _is_shallow(message.content) else message.text,
            tool_calls=[call for call, readable in calls if readable],
            invalid_tool_calls=[
                *message.invalid_tool_calls,
                *(_too_deep(call) for call, readable in calls if not readable),
            ],
            usage_metadata=message.usage_metadata,
            additional_kwargs={
                k: v
                for k, v in message.additional_kwargs.items()
                if k not in _REPEATED and _is_shallow(v) and _is_json(v)
            },
            response_metadata={k: metadata[k] for k in _KEPT_METADATA if _is_json(metadata.get(k))},
        )
        cost = metadata.get("response_cost")
        return cls(clean, float(cost) if cost is not None else unpriced, seconds)

    def to_json(self) -> str:
        """The journal's text."""
        record = {
            "message": message_to_dict(self.message),
            "cost_usd": self.cost_usd,
            "seconds": round(self.seconds, 4),
        }
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        # Half of a surrogate pair, which some models write, is text that no file, database or request can hold.
        return text.encode("utf-8", "replace").decode("utf-8")

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Reads what `to_json` wrote."""
        record = json.loads(text)
        (message,) = messages_from_dict([record["message"]])
        if not isinstance(message, AIMessage):
            raise TypeError(f"the journal holds a {type(message).__name__} where a model's answer was expected")
        return cls(message, record["cost_usd"], record["seconds"])


def _is_shallow(value: object) -> bool:
    """Whether a value is nested no deeper than the journal and the history can follow."""
    waiting = [(0, value)]
    while waiting:
        depth, inner = waiting.pop()
        if depth > _DEEPEST:
            return False
        if isinstance(inner, dict):
            waiting += [(depth + 1, item) for item in inner.values()]
        elif isinstance(inner, list):
            waiting += [(depth + 1, item) for item in inner]
    return True


def _too_deep(call: ToolCall) -> InvalidToolCall:
    """A tool call whose arguments cannot be kept, as one that the model has to send again."""
    what = f"nested more than {_DEEPEST} deep"
    return InvalidToolCall(name=call["name"], args="", id=call["id"], error=what, type="invalid_tool_call")


def _is_json(value: Any) -> bool:
    if value is None:
        return False
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True
