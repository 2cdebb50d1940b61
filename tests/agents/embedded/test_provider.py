"""LiteLLM reaches the author by its model string, with tools and seed, at no cost."""

import json

import pytest

from agents.embedded.author import respond

TOOLS = [
    {
        "type": "function",
        "function": {"name": name, "description": "", "parameters": {"type": "object", "properties": {}}},
    }
    for name in ("list_files", "read_file", "submit_plan")
]
CONTENT = '```json\n{"role": "proposer", "axis": "length", "effort": "low", "task": "a/b", "sequence": null}\n```'
MESSAGES = [{"role": "system", "content": "Plan."}, {"role": "user", "content": CONTENT}]


@pytest.fixture(scope="module")
def litellm():
    """LiteLLM with the provider registered, twice; imported here, because it looks at the environment when it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LITELLM_OFFLINE_MODE", "true")
        import litellm

    from agents.embedded.provider import register

    register()
    register()
    return litellm


def calls(message):
    return [(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])) for call in message]


async def test_it_answers_with_tool_calls_in_both_ways(litellm):
    expected = calls(respond(MESSAGES, TOOLS, 5)["tool_calls"])
    one = litellm.completion(model="embedded/author", messages=MESSAGES, tools=TOOLS, seed=5)
    other = await litellm.acompletion(model="embedded/author", messages=MESSAGES, tools=TOOLS, seed=5)
    for reply in (one, other):
        found = [call.model_dump() for call in reply.choices[0].message.tool_calls]
        assert calls(found) == expected
        assert reply.choices[0].finish_reason == "tool_calls"
        assert reply.usage.prompt_tokens > 0
        assert litellm.completion_cost(reply, model="embedded/author") == 0


def test_one_provider_however_often_it_is_registered(litellm):
    from agents.embedded.provider import EmbeddedProvider

    found = [item for item in litellm.custom_provider_map if item["provider"] == "embedded"]
    assert len(found) == 1
    assert isinstance(found[0]["custom_handler"], EmbeddedProvider)


def test_an_unknown_option_is_refused_by_name(litellm):
    with pytest.raises(litellm.exceptions.BadRequestError, match="no option 'mood'"):
        litellm.completion(model="embedded/author?mood=bad", messages=MESSAGES, tools=TOOLS)
