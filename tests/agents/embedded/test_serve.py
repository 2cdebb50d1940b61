"""Over HTTP the author says what it says in process."""

import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from agents.embedded.author import respond
from agents.embedded.serve import make_server
from evolution.plan import Axis, Effort

ROOT = Path(__file__).parents[3]


@pytest.fixture
def address():
    with make_server(0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()
        thread.join()


def post(address, body):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{address}/chat/completions", data)) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


async def test_a_whole_conversation_is_the_same(host, host_of, address, library_task):
    def over_http(messages, tools, seed):
        status, body = post(address, {"model": "author", "messages": messages, "tools": tools, "seed": seed})
        assert status == 200
        assert body["usage"]["total_tokens"] == body["usage"]["prompt_tokens"] + body["usage"]["completion_tokens"] > 0
        choice = body["choices"][0]
        assert choice["finish_reason"] == ("tool_calls" if choice["message"].get("tool_calls") else "stop")
        return choice["message"]

    here = await host.propose(library_task, Axis.LENGTH, Effort.MAX)
    there = await host_of(over_http).propose(library_task, Axis.LENGTH, Effort.MAX)
    assert there.messages == here.messages
    assert there.submitted == here.submitted is not None


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"{", "not JSON"),
        ([], "must be a JSON object"),
        ({"model": "gpt", "messages": []}, "no embedded model 'gpt'"),
        ({"model": "author?mood=bad", "messages": []}, "no option 'mood'"),
        ({"model": "author", "messages": "hello"}, "messages must be a list"),
        ({"model": "author", "messages": [], "stream": True}, "does not stream"),
        ({"model": "author", "messages": [], "seed": "x"}, "seed must be"),
        ({"model": "author", "messages": []}, "no user message"),
    ],
)
def test_what_it_cannot_answer_is_a_bad_request(address, body, says):
    status, answer = post(address, body)
    assert status == 400
    assert says in answer["error"]["message"]


def test_its_models_and_other_paths(address):
    with urllib.request.urlopen(f"{address}/models") as reply:
        assert [model["id"] for model in json.load(reply)["data"]] == ["author"]
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{address}/embeddings")


def test_the_process_prints_its_address_and_loads_no_gateway(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    code = (
        "import sys, agents.embedded.serve as serve\n"
        "heavy = {'litellm', 'langchain_core', 'langgraph', 'sandbox', 'sqlite3'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "sys.argv[1:] = ['--port', '0']\n"
        "serve.main()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment, cwd=tmp_path, text=True
    ) as process:
        try:
            address = process.stdout.readline().strip()
            status, _ = post(address, {"model": "author", "messages": []})
            assert status == 400
        finally:
            process.kill()


def test_the_answer_depends_on_nothing_but_the_request(monkeypatch, tmp_path):
    content = '```json\n{"role": "proposer", "axis": "length", "effort": "low", "task": "a/b", "sequence": null}\n```'
    messages = [{"role": "user", "content": content}]
    tools = [{"type": "function", "function": {"name": name}} for name in ("list_files", "read_file", "submit_plan")]
    first = respond(messages, tools, 3)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/nowhere")
    assert respond(messages, tools, 3) == first
