"""The gateway against a real server on this machine: what goes out, what comes back, what is written down."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool

from agents.budget import Budget, Spend
from agents.errors import (
    BudgetExceededError,
    ContextOverflowError,
    DrainedError,
    ModelAccessError,
    ModelRequestError,
    ModelSpecError,
    ModelUnavailableError,
)
from agents.metered import Patience
from agents.model import ModelGateway, check_model
from agents.scripted import ScriptedChatModel, calls
from evolution.journal import Journal

from .conftest import KEY, HttpReply, OpenAiServer, refusal, said

SPEC = "openai/test-model"
QUICK = Patience(attempts=3, first_wait=0.01, longest_wait=0.02)
ASK = [HumanMessage("hi")]


@tool
def look(path: str) -> str:
    """Looks."""
    return path


def gateway(journal: Journal, server: OpenAiServer, **options: object) -> ModelGateway:
    return ModelGateway(journal, api_base=server.address, patience=QUICK, timeout=10.0, **options)  # type: ignore[arg-type]


async def test_sends_tools_and_seed_and_returns_tool_calls(journal: Journal, server: OpenAiServer) -> None:
    server.replies = [said("", ("look", '{"path": "a"}'))]
    model = gateway(journal, server).chat(SPEC, role="proposer", call="l/g001/length/proposer/1", seed=2**31 + 7)
    answer = await model.bind_tools([look]).ainvoke(ASK)
    assert isinstance(answer, AIMessage)
    assert [(c["name"], c["args"]) for c in answer.tool_calls] == [("look", {"path": "a"})]
    (request,) = server.requests
    assert request["seed"] == 7
    assert request["tools"][0]["function"]["name"] == "look"
    assert server.keys == [f"Bearer {KEY}"]


async def test_rate_limit_is_waited_out_as_long_as_the_server_asks(journal: Journal, server: OpenAiServer) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    server.replies = [refusal(429, "slow down", retry_after="7"), refusal(500, "boom"), said("done")]
    budget = Budget()
    models = ModelGateway(journal, api_base=server.address, budget=budget, patience=replace(QUICK, sleep=sleep))
    answer = await models.chat(SPEC, role="r", call="k").ainvoke(ASK)
    assert answer.text == "done"
    assert slept[0] == 7.0
    assert slept[1] < 1.0
    assert budget.spent.calls == 3


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (refusal(401, f"Incorrect API key provided: {KEY}", "invalid_api_key"), ModelAccessError),
        (refusal(403, "no access"), ModelAccessError),
        (refusal(404, "no such model"), ModelRequestError),
        (
            refusal(400, "This model's maximum context length is 4096 tokens.", "context_length_exceeded"),
            ContextOverflowError,
        ),
    ],
)
async def test_what_repeating_cannot_help_fails_at_once(
    journal: Journal, server: OpenAiServer, reply: HttpReply, error: type[Exception]
) -> None:
    server.replies = [reply]
    with pytest.raises(error) as caught:
        await gateway(journal, server).chat(SPEC, role="r", call="k").ainvoke(ASK)
    assert len(server.requests) == 1
    assert SPEC in str(caught.value)
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("reply", [refusal(503, "overloaded"), HttpReply(drop=True), HttpReply(200, {"odd": 1})])
async def test_outages_are_repeated_and_then_reported(journal: Journal, server: OpenAiServer, reply: HttpReply) -> None:
    server.replies = [reply]
    with pytest.raises(ModelUnavailableError, match="tried 3 times"):
        await gateway(journal, server).chat(SPEC, role="r", call="k").ainvoke(ASK)
    assert len(server.requests) == 3


async def test_dropped_connection_then_success(journal: Journal, server: OpenAiServer) -> None:
    server.replies = [HttpReply(drop=True), said("back")]
    assert (await gateway(journal, server).chat(SPEC, role="r", call="k").ainvoke(ASK)).text == "back"


async def test_finished_calls_are_replayed_without_a_request(journal: Journal, server: OpenAiServer) -> None:
    server.replies = [said("one", ("look", '{"path": "a"}'), ("look", "{not json")), said("two")]
    first = gateway(journal, server).chat(SPEC, role="r", call="k")
    live = [await first.ainvoke(ASK), await first.ainvoke(ASK)]
    budget = Budget(calls=0)
    again = gateway(journal, server, budget=budget).chat(SPEC, role="r", call="k")
    replayed = [await again.ainvoke(ASK), await again.ainvoke([HumanMessage("something else")])]
    assert len(server.requests) == 2
    assert budget.spent == Spend()
    for old, new in zip(live, replayed, strict=True):
        assert old.model_dump(exclude={"id"}) == new.model_dump(exclude={"id"})
    assert [c["name"] for c in replayed[0].invalid_tool_calls] == ["look"]
    assert [key for key, _ in journal.entries("call")] == ["k/t001", "k/t002"]


async def test_only_what_was_not_finished_is_asked_again(journal: Journal, server: OpenAiServer) -> None:
    server.replies = [said("one"), refusal(401, "revoked")]
    model = gateway(journal, server).chat(SPEC, role="r", call="k")
    await model.ainvoke(ASK)
    with pytest.raises(ModelAccessError):
        await model.ainvoke(ASK)
    server.replies = [said("two")]
    resumed = gateway(journal, server).chat(SPEC, role="r", call="k")
    assert [(await resumed.ainvoke(ASK)).text for _ in range(2)] == ["one", "two"]
    assert len(server.requests) == 3


async def test_budget_stops_before_the_call(journal: Journal, server: OpenAiServer) -> None:
    server.replies = [said("one")]
    model = gateway(journal, server, budget=Budget(tokens=120)).chat(SPEC, role="r", call="k")
    await model.ainvoke(ASK)
    with pytest.raises(BudgetExceededError, match=r"tokens 120; spent so far: 1 calls, 110 tokens"):
        await model.ainvoke([HumanMessage("x" * 400)])
    assert len(server.requests) == 1


async def test_usage_counts_cached_tokens_once_and_unpriced_models_cost_none(
    journal: Journal, server: OpenAiServer
) -> None:
    cached = {
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "total_tokens": 110,
        "prompt_tokens_details": {"cached_tokens": 80},
    }
    server.replies = [said("one", usage=cached)]
    budget = Budget()
    await gateway(journal, server, budget=budget).chat(SPEC, role="r", call="k").ainvoke(ASK)
    assert budget.spent == Spend(calls=1, input_tokens=100, output_tokens=10, unpriced_calls=1)
    usage = journal.usage()
    assert (usage.input_tokens, usage.output_tokens, usage.unpriced_calls) == (100, 10, 1)


async def test_priced_models_cost_dollars(journal: Journal, server: OpenAiServer) -> None:
    server.replies = [said("one")]
    model = gateway(journal, server, budget=Budget(dollars=1.0)).chat("openai/gpt-4o", role="r", call="k")
    await model.ainvoke(ASK)
    assert journal.usage().cost_usd > 0
    assert journal.usage().unpriced_calls == 0


async def test_a_key_that_a_model_repeats_is_not_written_down(
    journal: Journal, server: OpenAiServer, tmp_path: Path
) -> None:
    server.replies = [said(f"the key is {KEY}, half a pair is \ud800")]
    answer = await gateway(journal, server).chat(SPEC, role="r", call="k").ainvoke(ASK)
    assert answer.text == "the key is [secret], half a pair is ?"
    journal.close()
    assert KEY.encode() not in _on_disk(tmp_path)


def _on_disk(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("run.db*"))


async def test_at_most_so_many_requests_at_once(journal: Journal) -> None:
    under_way, most = 0, 0

    class Slow(ScriptedChatModel):
        async def _agenerate(self, *args: object, **kwargs: object) -> object:  # type: ignore[override]
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0)
            under_way -= 1
            return self._generate([])

    model = Slow(script=lambda _: AIMessage("x"))
    shared = ModelGateway(journal, concurrency=2)
    await asyncio.gather(*(shared.chat(model, role="r", call=f"k{i}").ainvoke(ASK) for i in range(6)))
    assert most == 2


async def test_models_and_factories_need_no_litellm(journal: Journal) -> None:
    asked: list[tuple[str, str]] = []

    def factory(role: str, call: str) -> ScriptedChatModel:
        asked.append((role, call))
        return ScriptedChatModel(script=[calls(("look", {"path": "a"}))])

    answer = await ModelGateway(journal).chat(factory, role="critic", call="k").ainvoke(ASK)
    assert asked == [("critic", "k")]
    assert answer.tool_calls[0]["name"] == "look"


@pytest.mark.parametrize(
    "spec", ["agents.scripted:nothing_here", "no_such_module:model", "agents.scripted:TYPE_CHECKING"]
)
def test_a_spec_that_names_no_model_says_so(journal: Journal, spec: str) -> None:
    with pytest.raises(ModelSpecError):
        ModelGateway(journal).chat(spec, role="r", call="k")


async def test_unknown_model_strings_are_refused_with_the_string(journal: Journal) -> None:
    with pytest.raises(ModelRequestError, match="nosuch/model"):
        await ModelGateway(journal, patience=QUICK).chat("nosuch/model", role="r", call="k").ainvoke(ASK)


async def test_addresses_may_differ_by_provider(journal: Journal, server: OpenAiServer) -> None:
    server.replies = [said("here")]
    by_provider = {"hosted_vllm": server.address}
    models = ModelGateway(journal, api_base=by_provider, patience=QUICK)
    assert (await models.chat("hosted_vllm/m", role="r", call="k").ainvoke(ASK)).text == "here"


async def test_synchronous_calls_are_refused(journal: Journal) -> None:
    with pytest.raises(NotImplementedError, match="ainvoke"):
        ModelGateway(journal).chat(ScriptedChatModel(script=[]), role="r", call="k").invoke(ASK)


def test_importing_the_package_loads_no_model_library() -> None:
    import subprocess

    code = "import agents, sys; sys.exit(any(m.split('.')[0] in ('litellm', 'langchain_core') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("spec", ["openai/gpt-4o", "gemini/gemini-2.0-flash", "anthropic/claude-opus-5"])
async def test_a_missing_key_is_said_at_once_with_the_variable(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, spec: str
) -> None:
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    with pytest.raises(ModelAccessError) as caught:
        await ModelGateway(journal, patience=QUICK).chat(spec, role="r", call="k").ainvoke(ASK)
    provider = spec.partition("/")[0]
    assert f"{provider.upper()}_API_KEY in the environment" in str(caught.value)
    assert "Traceback" not in str(caught.value)


async def test_a_drain_ends_the_wait_for_a_model_that_is_down(journal: Journal, server: OpenAiServer) -> None:
    server.replies = [refusal(503, "down for the day", retry_after="800")]
    models = ModelGateway(journal, api_base=server.address, patience=Patience())
    told = Told(models)
    with pytest.raises(DrainedError):
        await asyncio.wait_for(models.chat(SPEC, role="r", call="k").ainvoke(ASK, {"callbacks": [told]}), 60)
    assert len(server.requests) == 1
    assert told.failures == ["1: down for the day"]


class Told(AsyncCallbackHandler):
    """Drains the run as soon as it is told of a wait."""

    def __init__(self, models: ModelGateway) -> None:
        self.models = models
        self.failures: list[str] = []

    async def on_retry(self, retry_state: Any, **_: Any) -> None:
        error = str(retry_state.outcome.exception())
        self.failures.append(f"{retry_state.attempt_number}: {'down for the day' if 'down for' in error else error}")
        self.models.drain()


@pytest.mark.parametrize("spec", ["embedded/author", "openai/anything", "hosted_vllm/x", "agents.scripted:calls"])
def test_a_model_string_that_can_be_called_passes(spec: str) -> None:
    check_model(spec)


@pytest.mark.parametrize("spec", ["nosuch/model", "embedded/nobody", "no_module:here", "os:sep"])
def test_a_model_string_that_names_nothing_is_refused_without_a_call(spec: str) -> None:
    with pytest.raises(ModelSpecError, match=spec.partition("/")[2] or spec):
        check_model(spec)
