"""A chat completion request answered: what the LiteLLM provider and the HTTP server have in common."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Final

from agents.embedded.author import respond
from agents.embedded.conversation import ConversationError
from agents.embedded.options import Options

CHARACTERS_A_TOKEN: Final = 4


def complete(request: object) -> dict[str, object]:
    """Answers the body of a `/v1/chat/completions` request with the body of its response.

    The response is a function of the request: its id is a hash, `created` is 0 and usage counts characters.

    Raises:
        ConversationError: The request names another model, asks for a stream or holds no conversation of a role.
    """
    if not isinstance(request, Mapping):
        raise ConversationError("the request must be a JSON object")
    options = Options.of(str(request.get("model", "")))
    if request.get("stream"):
        raise ConversationError("the embedded author does not stream: ask with stream=false")
    messages, tools, seed = request.get("messages"), request.get("tools") or [], request.get("seed")
    if not isinstance(messages, list) or not all(isinstance(message, Mapping) for message in messages):
        raise ConversationError("messages must be a list of objects in OpenAI's format")
    if not isinstance(tools, list) or not all(isinstance(tool, Mapping) for tool in tools):
        raise ConversationError("tools must be a list of objects in OpenAI's format")
    if seed is not None and not isinstance(seed, int):
        raise ConversationError(f"seed must be a whole number, got {seed!r}")
    answer = respond(messages, tools, seed, options)
    asked, said = (json.dumps(value, sort_keys=True, ensure_ascii=False) for value in ([messages, tools], answer))
    prompt, completion = len(asked) // CHARACTERS_A_TOKEN, len(said) // CHARACTERS_A_TOKEN
    return {
        "id": "chatcmpl-" + hashlib.sha256(f"{seed}\n{asked}".encode()).hexdigest()[:24],
        "object": "chat.completion",
        "created": 0,
        "model": str(request["model"]),
        "choices": [
            {"index": 0, "message": answer, "finish_reason": "tool_calls" if answer.get("tool_calls") else "stop"}
        ],
        "usage": {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion},
    }
