"""The embedded author as a LiteLLM provider: model strings that begin with `embedded/`."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import litellm
from litellm.llms.custom_llm import CustomLLM, CustomLLMError
from litellm.types.llms.custom_llm import CustomLLMItem

from agents.embedded.completion import complete
from agents.embedded.conversation import ConversationError
from agents.embedded.options import MODEL

PREFIX: Final = "embedded"
PRICE: Final = {"litellm_provider": PREFIX, "mode": "chat", "input_cost_per_token": 0.0, "output_cost_per_token": 0.0}


class EmbeddedProvider(CustomLLM):
    """Answers LiteLLM's requests in process; LiteLLM calls both methods with keywords alone."""

    def completion(self, *_: Any, **given: Any) -> litellm.ModelResponse:
        """One answer; `tools` and `seed` are read from LiteLLM's `optional_params`.

        Raises:
            CustomLLMError: Status 400: the request is not one that the author can answer.
        """
        options = given.get("optional_params") or {}
        request = {key: options.get(key) for key in ("tools", "seed", "stream")}
        try:
            answer = complete({**request, "model": given["model"], "messages": given["messages"]})
        except ConversationError as error:
            raise CustomLLMError(status_code=400, message=str(error)) from error  # type: ignore[no-untyped-call]
        return litellm.ModelResponse(**answer)

    async def acompletion(self, *_: Any, **given: Any) -> litellm.ModelResponse:
        """The same, off the event loop: the author computes."""
        return await asyncio.to_thread(self.completion, **given)


def register(model: str = f"{PREFIX}/{MODEL}") -> None:
    """Makes LiteLLM know the `embedded/` models and that this one costs nothing; calling it again changes nothing."""
    if model not in litellm.model_cost:
        litellm.register_model({model: PRICE})
    if any(item["provider"] == PREFIX for item in litellm.custom_provider_map):
        return
    item = CustomLLMItem(provider=PREFIX, custom_handler=EmbeddedProvider())
    litellm.custom_provider_map = [*litellm.custom_provider_map, item]
    litellm.utils.custom_llm_setup()  # type: ignore[no-untyped-call]
