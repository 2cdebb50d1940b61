"""A chat model under the run's rules: finished calls are replayed, limits asked first, outages waited out."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.caches import BaseCache
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableBinding
from pydantic import PrivateAttr
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_exponential, wait_random

from agents.answer import Answer
from agents.budget import Spend
from agents.errors import DrainedError, ModelError, ModelUnavailableError
from agents.tool_schemas import openai_tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from langchain_core.tools import BaseTool
    from tenacity import RetryCallState

    from agents.budget import Budget
    from agents.secrets_filter import SecretsFilter
    from evolution.journal import CallJournal

CALL = "call"  # the kind of a model call in the journal
_CHARACTERS_PER_TOKEN = 4
_LONGEST_PLEA = 900.0  # seconds; a server that asks for more is taken at its word no further


@dataclass(frozen=True, slots=True)
class Patience:
    """How outages are waited out.

    Attributes:
        attempts: Requests per call, the first included.
        first_wait: Seconds before the first repetition; doubles from there, jittered.
        longest_wait: Seconds between two requests at most, unless the server's Retry-After asks for more.
        sleep: Waits so many seconds.
    """

    attempts: int = 8
    first_wait: float = 1.0
    longest_wait: float = 60.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass(frozen=True, slots=True)
class Provider:
    """What the wrapper must know of who answers.

    Attributes:
        name: The model string, for messages.
        parameters: Sent with each request.
        failures: Exceptions that mean a failed request.
        translate: Makes a `ModelError` of one.
        input_price: US dollars per token read; `None` when unknown.
        output_price: US dollars per token written.
        openai_tools: Whether it is sent tools the way OpenAI writes them, whatever they are handed in as.
    """

    name: str
    parameters: Mapping[str, Any]
    failures: tuple[type[Exception], ...]
    translate: Callable[[Exception], ModelError]
    input_price: float | None = None
    output_price: float | None = None
    openai_tools: bool = False

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """US dollars of so many tokens, `None` without a known price."""
        if self.input_price is None or self.output_price is None:
            return None
        return input_tokens * self.input_price + output_tokens * self.output_price


@dataclass(frozen=True, slots=True)
class Rules:
    """What all models of a run share."""

    journal: CallJournal
    budget: Budget
    slots: asyncio.Semaphore
    patience: Patience
    secrets: SecretsFilter
    draining: asyncio.Event


class MeteredChatModel(BaseChatModel):
    """The model of one conversation; its calls are numbered in the order they are made.

    Attributes:
        inner: Who answers.
        provider: What is known of it.
        rules: Journal, budget, slots and patience of the run.
        call: Which conversation this is: the prefix of its journal keys. It says nothing about what is in the
            conversation, so that a resumed run finds it again.
    """

    inner: BaseChatModel
    provider: Any  # Provider and the two below are not pydantic's to validate or copy
    rules: Any
    call: str
    # A cache would answer without a turn being counted, and the journal replays already.
    cache: BaseCache | bool | None = False
    _turn: int = PrivateAttr(default=0)

    @property
    def _llm_type(self) -> str:
        return "envolve-metered"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Binds tools the way the inner model writes them.

        Raises:
            TypeError: The inner model binds tools in a way that cannot be repeated here.
        """
        provider: Provider = self.provider
        if provider.openai_tools:
            tools = [openai_tool(tool) for tool in tools]
        bound = self.inner.bind_tools(tools, tool_choice=tool_choice, **kwargs)
        if not isinstance(bound, RunnableBinding):
            raise TypeError(f"{type(self.inner).__name__}.bind_tools must return a RunnableBinding")
        return self.bind(**bound.kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("calls are journalled asynchronously: use ainvoke, astream or abatch")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self._turn += 1
        rules: Rules = self.rules
        key = f"{self.call}/t{self._turn:03d}"
        value = await rules.journal.finished(key)
        if value is None:
            answer = await self._ask(messages, stop, kwargs, run_manager)
            value = rules.secrets.known(answer.to_json())
            await rules.journal.record(
                key,
                value,
                kind=CALL,
                cost_usd=answer.cost_usd,
                input_tokens=answer.input_tokens,
                output_tokens=answer.output_tokens,
                seconds=answer.seconds,
            )
        # Also the first time the message is what the journal holds, so that a replay cannot differ.
        message = Answer.from_json(value).message
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _ask(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        kwargs: dict[str, Any],
        run_manager: AsyncCallbackManagerForLLMRun | None,
    ) -> Answer:
        rules: Rules = self.rules
        attempts = rules.patience.attempts

        async def tell(state: RetryCallState) -> None:
            if run_manager is not None:
                await run_manager.on_retry(state)

        retrying = AsyncRetrying(
            retry=retry_if_exception_type(ModelUnavailableError),
            stop=stop_after_attempt(attempts),
            wait=_waiting(rules.patience),
            sleep=self._pause,
            before_sleep=tell,
            reraise=True,
        )
        try:
            return await retrying(self._request, messages, stop, kwargs)
        except ModelUnavailableError as error:
            raise ModelUnavailableError(
                f"{error} (tried {attempts} times; resume the run when the provider answers again)",
                retry_after=error.retry_after,
            ) from None

    async def _pause(self, seconds: float) -> None:
        """Waits; a drain ends it at once, and the request after it is not made."""
        rules: Rules = self.rules
        waits = [asyncio.ensure_future(rules.patience.sleep(seconds)), asyncio.ensure_future(rules.draining.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _request(self, messages: list[BaseMessage], stop: list[str] | None, kwargs: dict[str, Any]) -> Answer:
        provider: Provider = self.provider
        rules: Rules = self.rules
        arguments = {**provider.parameters, **kwargs}
        async with rules.slots:
            if rules.draining.is_set():
                raise DrainedError("the run is being drained: no new call is made")
            with rules.budget.call(self._estimate(messages, arguments)) as ticket:
                start = time.monotonic()
                try:
                    # The wrapper's own callbacks tell of this call; the public door would tell of it twice.
                    result = await self.inner._agenerate(messages, stop=stop, **arguments)  # noqa: SLF001
                except provider.failures as error:
                    # Not chained: the provider's own message may quote the key that it refused.
                    raise provider.translate(error) from None
                free = 0.0 if provider.input_price == provider.output_price == 0 else None
                answer = Answer.of(result, seconds=time.monotonic() - start, unpriced=free)
                ticket.spent = Spend(
                    calls=1,
                    input_tokens=answer.input_tokens,
                    output_tokens=answer.output_tokens,
                    dollars=answer.cost_usd or 0.0,
                    unpriced_calls=int(answer.cost_usd is None),
                )
                return answer

    def _estimate(self, messages: list[BaseMessage], arguments: Mapping[str, Any]) -> Spend:
        characters = sum(len(message.content) for message in messages if isinstance(message.content, str))
        characters += sum(len(json.dumps(tool)) for tool in arguments.get("tools") or () if isinstance(tool, dict))
        read = characters // _CHARACTERS_PER_TOKEN
        provider: Provider = self.provider
        return Spend(calls=1, input_tokens=read, dollars=provider.price(read, 0) or 0.0)


def _waiting(patience: Patience) -> Callable[[RetryCallState], float]:
    backoff = wait_exponential(multiplier=patience.first_wait, max=patience.longest_wait)
    jitter = wait_random(0, patience.first_wait)

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, ModelUnavailableError) else None
        return max(min(backoff(state) + jitter(state), patience.longest_wait), min(asked or 0.0, _LONGEST_PLEA))

    return wait
