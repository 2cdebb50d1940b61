"""The embedded author behind HTTP, for whatever speaks OpenAI's chat completions: `python -m agents.embedded.serve`.

Serves `/v1/chat/completions` and `/v1/models` on 127.0.0.1. There is no key to give; the process reads nothing but
requests.
"""

from __future__ import annotations

import argparse
import json
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from agents.embedded.completion import complete
from agents.embedded.conversation import ConversationError
from agents.embedded.options import MODEL

LARGEST_REQUEST: Final = 64 << 20


class AuthorHandler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """`/v1/models`: the one model."""
        if self.path.rstrip("/") != "/v1/models":
            return self._fail(HTTPStatus.NOT_FOUND, f"no {self.path}: there are /v1/models and /v1/chat/completions")
        return self._send(HTTPStatus.OK, {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0}]})

    def do_POST(self) -> None:
        """`/v1/chat/completions`: one answer, never a stream."""
        size = int(self.headers.get("Content-Length") or 0)
        if size > LARGEST_REQUEST:
            self.close_connection = True
            return self._fail(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request may have {LARGEST_REQUEST} bytes")
        body = self.rfile.read(size)
        if self.path.rstrip("/") != "/v1/chat/completions":
            return self._fail(HTTPStatus.NOT_FOUND, f"no {self.path}: there are /v1/models and /v1/chat/completions")
        try:
            return self._send(HTTPStatus.OK, complete(json.loads(body)))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            return self._fail(HTTPStatus.BAD_REQUEST, f"the request is not JSON: {error}")
        except ConversationError as error:
            return self._fail(HTTPStatus.BAD_REQUEST, str(error))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature of http.server
        """Keeps quiet: requests are the client's to log."""

    def _fail(self, status: HTTPStatus, message: str) -> None:
        self._send(status, {"error": {"message": message, "type": "invalid_request_error", "code": None}})

    def _send(self, status: HTTPStatus, body: dict[str, object]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def make_server(port: int) -> ThreadingHTTPServer:
    """A server on 127.0.0.1 that is not running yet; port 0 takes a free one (`server_address[1]` says which)."""
    server = ThreadingHTTPServer(("127.0.0.1", port), AuthorHandler)
    server.daemon_threads = True
    return server


def main() -> int:
    """Serves until interrupted; prints the address first."""
    parser = argparse.ArgumentParser(prog="python -m agents.embedded.serve", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 (default) takes a free port and prints it")
    with make_server(parser.parse_args().port) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)  # noqa: T201 - what the caller waits for
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
