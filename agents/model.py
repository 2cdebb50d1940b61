"""A model string in, a LangChain chat model out; the only file that knows LiteLLM.

Importing LiteLLM takes seconds and 200 MB, so that happens with the first model string that needs it.
"""

from __future__ import annotations

import asyncio
import email.utils
import logging
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel

from agents.budget import Budget
from agents.errors import (
    ContentPolicyError,
    ContextOverflowError,
    ModelAccessError,
    ModelError,
    ModelRequestError,
    ModelSpecError,
    ModelUnavailableError,
)
from agents.metered import MeteredChatModel, Patience, Provider, Rules
from agents.secrets_filter import SecretsFilter

if TYPE_CHECKING:
    from evolution.journal import CallJournal

ChatFactory = Callable[[str, str], BaseChatModel]

EMBEDDED = "embedded"
_ATTRIBUTE = re.compile(r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")
_PASSING = frozenset({408, 409, 425, 429})
_REFUSED = frozenset({401, 402, 403})
_SERVER_ERROR = 500
_SEEDS = 2**31
_LONGEST_QUOTE = 600
# A key that is missing, where LiteLLM reports a server error or a lost connection.
_NO_KEY = re.compile(r"\bmissing\b.{0,40}\b(credentials|api[ _-]?key)", re.IGNORECASE)
_TRACEBACK = "\nTraceback (most recent call last)"


class ModelGateway:
    """Makes the chat models of a run.

    Args:
        journal: Where finished calls are recorded and found again.
        budget: What all calls together may cost; unlimited when left out.
        concurrency: Requests under way at once.
        api_base: Address of an OpenAI-compatible server for every model but the embedded ones; or addresses by model
            string or provider (`{"hosted_vllm": "http://127.0.0.1:8000/v1"}`).
        temperature: Sampling temperature; the provider's default when left out.
        max_tokens: Tokens an answer may have; the provider's default when left out.
        timeout: Seconds a request may take.
        patience: How outages are waited out.
    """

    def __init__(
        self,
        journal: CallJournal,
        *,
        budget: Budget | None = None,
        concurrency: int = 8,
        api_base: str | Mapping[str, str] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        timeout: float = 600.0,
        patience: Patience | None = None,
    ) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, got {concurrency}: no call could ever start")
        self.budget = budget or Budget()
        self._secrets = SecretsFilter()
        slots, draining = asyncio.Semaphore(concurrency), asyncio.Event()
        self._rules = Rules(journal, self.budget, slots, patience or Patience(), self._secrets, draining)
        self._api_base = api_base
        self._options = {"temperature": temperature, "max_tokens": max_tokens, "request_timeout": timeout}
        self._made: dict[str, tuple[BaseChatModel, Provider]] = {}

    def chat(
        self, spec: str | BaseChatModel | ChatFactory, *, role: str, call: str, seed: int | None = None
    ) -> MeteredChatModel:
        """The model of one conversation.

        Args:
            spec: A LiteLLM model string (`anthropic/…`, `openai/…`, `hosted_vllm/…`, `ollama/…`, `embedded/author`), a
                chat model, or a factory that is called with (role, call), also as `module:attribute`.
            role: Whose conversation it is; callbacks find it, with `call` and `model`, in their metadata.
            call: Which conversation it is: the prefix of its journal keys (`Occasion.key`), unique to it.
            seed: Sent as the request's `seed` (modulo 2³¹, more than some servers take), to model strings only;
                providers that know no seed are not sent one.

        Raises:
            ModelSpecError: `spec` names nothing that can be called.
        """
        inner, provider = self._resolve(spec, role, call)
        if seed is not None and isinstance(spec, str) and spec in self._made:
            provider = replace(provider, parameters={**provider.parameters, "seed": seed % _SEEDS})
        about = {"role": role, "call": call, "model": provider.name}
        return MeteredChatModel(inner=inner, provider=provider, rules=self._rules, call=call, metadata=about)

    @property
    def journal(self) -> CallJournal:
        """Where finished calls are."""
        return self._rules.journal

    @property
    def address(self) -> str:
        """Where models are asked for, where that was said: the same name may be another model there."""
        return "" if self._api_base is None else repr(self._api_base)

    def drain(self) -> None:
        """Lets the calls under way finish and be recorded; each new one raises `DrainedError`."""
        self._rules.draining.set()

    def _resolve(self, spec: str | BaseChatModel | ChatFactory, role: str, call: str) -> tuple[BaseChatModel, Provider]:
        if isinstance(spec, str) and not _ATTRIBUTE.match(spec):
            if spec not in self._made:
                self._made[spec] = self._litellm_model(spec)
            return self._made[spec]
        found = _attribute(spec) if isinstance(spec, str) else spec
        model = found if isinstance(found, BaseChatModel) else found(role, call) if callable(found) else found
        if not isinstance(model, BaseChatModel):
            raise ModelSpecError(f"{spec} gives {type(model).__name__}, not a LangChain chat model (BaseChatModel)")
        return model, Provider(type(model).__name__, {}, (), _as_it_is)

    def _litellm_model(self, spec: str) -> tuple[BaseChatModel, Provider]:
        litellm = _import_litellm()
        from langchain_litellm import ChatLiteLLM
        from openai import OpenAIError

        embedded = spec.startswith(f"{EMBEDDED}/")
        if embedded:
            from agents.embedded import provider as embedded_provider

            embedded_provider.register(spec)
        # One layer repeats requests, ours: what the layers below would repeat on top of it multiplies the wait.
        extra = {} if embedded else {"drop_params": True, "max_retries": 0}
        base = None if embedded else self._base_of(spec)
        model = ChatLiteLLM(model=spec, api_base=base, max_retries=1, model_kwargs=extra, **self._options)
        input_price, output_price = _prices(litellm, spec)

        def translate(error: Exception) -> ModelError:
            return _translated(litellm, spec, error, self._secrets)

        # Whatever the provider, LiteLLM raises subclasses of the exceptions of OpenAI's client.
        return model, Provider(spec, {}, (OpenAIError,), translate, input_price, output_price, openai_tools=True)

    def _base_of(self, spec: str) -> str | None:
        if self._api_base is None or isinstance(self._api_base, str):
            return self._api_base
        return self._api_base.get(spec) or self._api_base.get(spec.partition("/")[0])


def _import_litellm() -> Any:
    # Read when LiteLLM is imported: without it, it looks for a price list on the web.
    os.environ.setdefault("LITELLM_OFFLINE_MODE", "true")
    import litellm

    litellm.suppress_debug_info = True
    if "LITELLM_LOG" not in os.environ:
        # What matters is raised; its warnings (of prices it does not know, say) would run through every progress table.
        logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    return litellm


def _attribute(spec: str) -> Any:
    module, _, name = spec.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ModelSpecError(
            f"model {spec!r} cannot be loaded ({error}): write a LiteLLM model string such as "
            "'anthropic/claude-opus-5' or 'embedded/author', or module:attribute of a chat model or of a factory"
        ) from error


def check_model(spec: str, *, api_base: str | None = None) -> None:
    """Makes sure that a model string names something that can be called; asks nobody, so a wrong key goes unnoticed.

    Raises:
        ModelSpecError: It does not.
    """
    if _ATTRIBUTE.match(spec):
        found = _attribute(spec)
        if not isinstance(found, BaseChatModel) and not callable(found):
            raise ModelSpecError(
                f"{spec} is {type(found).__name__}, neither a LangChain chat model nor a factory of one"
            )
        return
    if spec.startswith(f"{EMBEDDED}/"):
        from agents.embedded.conversation import ConversationError
        from agents.embedded.options import Options

        try:
            Options.of(spec)
        except ConversationError as error:
            raise ModelSpecError(str(error)) from error
        return
    litellm = _import_litellm()
    try:
        litellm.get_llm_provider(spec, api_base=api_base)
    except litellm.exceptions.BadRequestError as error:
        raise ModelSpecError(
            f"model {spec!r}: LiteLLM knows no provider {spec.partition('/')[0]!r}; write provider/model, such as "
            "'anthropic/claude-opus-5', or 'hosted_vllm/NAME' with --api-base for a server of your own"
        ) from error


def prices(spec: str) -> tuple[float, float] | None:
    """US dollars per token read and written by LiteLLM's price list; `None` when it does not know the model."""
    if spec.startswith(f"{EMBEDDED}/"):
        return 0.0, 0.0
    read, written = _prices(_import_litellm(), spec)
    return None if read is None or written is None else (read, written)


def _prices(litellm: Any, spec: str) -> tuple[float | None, float | None]:
    provider, _, name = spec.partition("/")
    prices = litellm.model_cost.get(spec)
    if prices is None:
        # Most are listed without their provider; the same name elsewhere (a local server) has another price.
        listed = litellm.model_cost.get(name, {})
        prices = listed if listed.get("litellm_provider") == provider else {}
    return prices.get("input_cost_per_token"), prices.get("output_cost_per_token")


def _as_it_is(error: Exception) -> ModelError:
    return ModelError(str(error))


def _translated(litellm: Any, spec: str, error: Exception, secrets: SecretsFilter) -> ModelError:
    names = litellm.exceptions
    said = secrets.message(str(error).partition(_TRACEBACK)[0])[:_LONGEST_QUOTE]
    status = getattr(error, "status_code", None)
    if isinstance(error, names.ContextWindowExceededError):
        return ContextOverflowError(f"{spec}: the conversation does not fit into its context ({said})")
    if isinstance(error, names.ContentPolicyViolationError):
        return ContentPolicyError(f"{spec}: refused by the provider's content policy ({said})")
    if isinstance(error, names.AuthenticationError) or status in _REFUSED or _NO_KEY.search(said):
        return ModelAccessError(f"{spec}: access refused; {_what_to_check(litellm, spec)} ({said})")
    if spec.startswith(f"{EMBEDDED}/") and not isinstance(error, names.RateLimitError):
        # It runs in this process: what LiteLLM calls a lost connection is a mistake in the request or in the author.
        return ModelRequestError(f"{spec}: {said}")
    lost = isinstance(error, names.Timeout | names.APIConnectionError)
    if lost or (isinstance(status, int) and (status in _PASSING or status >= _SERVER_ERROR)):
        return ModelUnavailableError(f"{spec}: {said}", retry_after=_retry_after(error))
    return ModelRequestError(f"{spec}: the request was refused; check the model string and options ({said})")


def _what_to_check(litellm: Any, spec: str) -> str:
    missing = litellm.validate_environment(spec)["missing_keys"]
    if missing:
        return f"set {' or '.join(missing)} in the environment"
    return "check the key in the provider's environment variable, and the account"


def _retry_after(error: Exception) -> float | None:
    """Seconds that the server's Retry-After header asks for; it may hold seconds or a date."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    text = str(headers.get("retry-after", "")).strip()
    if not text:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        date = email.utils.parsedate_tz(text)
        return max(0.0, email.utils.mktime_tz(date) - time.time()) if date else None
