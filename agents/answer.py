"""One finished model call as a value: what goes into the journal and comes back out of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from langchain_core.messages import AIMessage, message_to_dict, messages_from_dict

if TYPE_CHECKING:
    from langchain_core.outputs import ChatResult

# These hold the provider's own objects, which are not JSON, and repeat what `tool_calls` and `usage_metadata` say.
_REPEATED = frozenset({"tool_calls", "function_call"})
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
        clean = AIMessage(
            content=message.content,
            tool_calls=message.tool_calls,
            invalid_tool_calls=message.invalid_tool_calls,
            usage_metadata=message.usage_metadata,
            additional_kwargs={
                k: v for k, v in message.additional_kwargs.items() if k not in _REPEATED and _is_json(v)
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


def _is_json(value: Any) -> bool:
    if value is None:
        return False
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True
