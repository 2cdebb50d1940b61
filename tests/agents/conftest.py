"""A task folder, a journal, and a real OpenAI-compatible server on 127.0.0.1 that plays a script."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from evolution.journal import Journal
from sandbox.bubblewrap.backend import BubblewrapBackend
from sandbox.errors import SandboxUnavailableError
from sandbox.protocol import Sandbox
from sandbox.task import Task

KEY = "sk-test-not-a-real-key-0123456789"


@dataclass(frozen=True)
class HttpReply:
    """What the server sends: a status, a JSON body, extra headers; `drop` closes the connection without an answer."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False


def said(content: str = "hello", *tool_calls: tuple[str, str], usage: dict[str, Any] | None = None) -> HttpReply:
    """A chat completion; tool calls are (name, raw arguments)."""
    calls = [
        {"id": f"c{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for i, (name, arguments) in enumerate(tool_calls)
    ]
    message = {"role": "assistant", "content": content or None, **({"tool_calls": calls} if calls else {})}
    return HttpReply(
        body={
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "served",
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
            "usage": usage or {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }
    )


def refusal(status: int, message: str, code: str | None = None, **headers: str) -> HttpReply:
    """An error the way OpenAI's servers write it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpReply(status, {"error": {"message": message, "type": "error", "code": code}}, named)


class OpenAiServer:
    """Plays `replies` in order, the last one for ever; remembers the bodies and keys it was sent."""

    def __init__(self) -> None:
        self.replies: list[HttpReply] = []
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: object) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.keys.append(self.headers.get("authorization", ""))
                outer.requests.append(body)
                reply = outer.replies[min(len(outer.requests), len(outer.replies)) - 1]
                if reply.drop:
                    self.close_connection = True
                    return
                data = json.dumps(reply.body).encode()
                self.send_response(reply.status)
                for name, value in {**reply.headers, "content-type": "application/json"}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAiServer]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    running = OpenAiServer()
    yield running
    running.close()


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "run.db") as opened:
        yield opened


@pytest.fixture
def parent(tmp_path: Path) -> Task:
    """A small task with two recorded steps."""
    root = tmp_path / "parent"
    files = {
        "task.toml": 'schema_version = "1.4"\n[task]\nname = "tests/totals"\n',
        "instruction.md": "Write the total of /app/orders.csv to /app/out/total.txt.\n",
        "environment/Dockerfile": "FROM python:3.12-bookworm\nCOPY orders.csv /app/orders.csv\n",
        "environment/orders.csv": "id,amount\n1,3\n2,4\n",
        "solution/solve.sh": "#!/bin/bash\n# envolve: step s1\ntrue\n# envolve: step s2\ntrue\n",
        "tests/test.sh": "#!/bin/bash\necho 0 > /logs/verifier/reward.txt\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "solution/solve.sh").chmod(0o755)
    return Task.read(root)


@pytest.fixture
async def sandbox(parent: Task, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Sandbox]:
    """A sandbox of the task; skipped where this machine cannot run the default back end."""
    state = tmp_path_factory.getbasetemp() / "bubblewrap"  # one for all tests: the image is built once
    backend = BubblewrapBackend(base=("*=host",), state=state)
    try:
        await backend.capabilities()
    except SandboxUnavailableError as error:
        pytest.skip(f"no sandbox here: {error}")
    try:
        yield await backend.start(await backend.build(parent))
    finally:
        await backend.close()
