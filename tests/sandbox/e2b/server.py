"""A cloud for tests, on loopback: E2B's API and its sandboxes' services, with real processes in bubblewrap sandboxes.

It speaks to the unmodified `e2b` package, which finds it by E2B_API_URL and E2B_SANDBOX_URL. Left out: volumes, pausing,
metrics, terminals.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote

import uvicorn
from e2b.envd.filesystem.filesystem_connect import FilesystemASGIApplication
from e2b.envd.process.process_connect import ProcessASGIApplication
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.sandbox.e2b.machine import Machine, Size
from tests.sandbox.e2b.services import FilesystemService, ProcessService, files
from tests.sandbox.e2b.templates import Templates

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from starlette.types import Receive, Scope, Send

    from sandbox.protocol import Image, SandboxBackend, Snapshot

KEY = "e2b_" + "0" * 40
MAX_MESSAGE = 1 << 26


class Cloud:
    """The state of the cloud, and knobs for tests.

    Attributes:
        machines: What runs, by id.
        snapshots: What was frozen, by id: the snapshot and its name.
        faults: For a part of a path, statuses that the next requests to it are answered with.
        requests: Method and path of every request so far.
        size: What machines that are made from now on have.
        freezes_files: Whether it makes snapshots of files alone; those with processes it can only pretend to make.
    """

    def __init__(self, backend: SandboxBackend, base: Image) -> None:
        self._backend = backend
        self._base = base
        self.machines: dict[str, Machine] = {}
        self.snapshots: dict[str, tuple[Snapshot, str]] = {}
        self.faults: dict[str, list[int]] = {}
        self.requests: list[str] = []
        self.size = Size()
        self.freezes_files = True
        self._with_processes: set[str] = set()
        self.created: list[dict[str, object]] = []
        self._made: dict[str, dict[str, object]] = {}
        self._reaper = asyncio.create_task(self._reap())
        rpc = {"read_max_bytes": MAX_MESSAGE}
        self._process = ProcessASGIApplication(ProcessService(self._machine_of), **rpc)
        self._filesystem = FilesystemASGIApplication(FilesystemService(self._machine_of), **rpc)
        self.templates = Templates(backend, base, self._add)
        self._api = Starlette(
            routes=[
                *self.templates.routes,
                Route("/v2/sandboxes", self._create, methods=["POST"]),
                Route("/v2/sandboxes", self._list),
                Route("/sandboxes/{id}", self._info),
                Route("/sandboxes/{id}", self._kill, methods=["DELETE"]),
                Route("/sandboxes/{id}/timeout", self._timeout, methods=["POST"]),
                Route("/sandboxes/{id}/snapshots", self._freeze, methods=["POST"]),
                Route("/snapshots", self._frozen),
                Route("/templates/{id}", self._thaw, methods=["DELETE"]),
            ]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Every request: faults first, then who is asked for, then the right part."""
        if scope["type"] != "http":
            return
        request, path = Request(scope, receive), scope["path"]
        self.requests.append(f"{request.method} {path}")
        fault = next((statuses.pop(0) for part, statuses in self.faults.items() if part in path and statuses), None)
        inside = path.startswith(("/process.", "/filesystem.")) or path in ("/files", "/health")
        answer: Response | None = None
        if fault:
            answer = _error(fault, "told to fail")
        elif inside and request.headers.get("e2b-sandbox-id") not in self.machines:
            answer = _error(502, "The sandbox was not found")
        elif path == "/health":
            answer = Response(status_code=204)
        elif path == "/files":
            answer = await files(self._machine_of(request.headers), request)
        elif not inside and not path.startswith("/uploads/") and request.headers.get("x-api-key") != KEY:
            answer = _error(401, "invalid API key")
        if answer is not None:
            await answer(scope, receive, send)
        elif path.startswith("/process."):
            await self._process(scope, receive, send)
        elif path.startswith("/filesystem."):
            await self._filesystem(scope, receive, send)
        else:
            await self._api(scope, receive, send)

    async def close(self) -> None:
        self._reaper.cancel()
        await self.end_all()

    async def end_all(self) -> None:
        """Kills every machine."""
        await asyncio.gather(*(self._end(id_) for id_ in list(self.machines)))

    async def _create(self, request: Request) -> Response:
        asked = await request.json()
        key = request.headers.get("idempotency-key", "")
        if key in self._made:
            return JSONResponse(self._made[key], 201)
        template = asked["templateID"]
        if template in self.snapshots:
            origin = self.snapshots[template][0]
        elif template == "base":
            origin = self._base
        else:
            return _error(404, f"template '{template}' not found")
        machine = await Machine.start(self._backend, origin, template, asked, self.size)
        self.machines[machine.id] = machine
        if template in self._with_processes:
            await machine.run_in_background("/usr/bin/sleep", "752")
        self.created.append(asked)
        self._made[key] = machine.described()
        return JSONResponse(machine.described(), 201)

    async def _list(self, request: Request) -> Response:
        wanted = {unquote(k): unquote(v) for k, v in parse_qsl(request.query_params.get("metadata", ""))}
        rows = [machine.described() for machine in self.machines.values()]
        return JSONResponse([row for row in rows if wanted.items() <= row["metadata"].items()])

    async def _info(self, request: Request) -> Response:
        machine = self.machines.get(request.path_params["id"])
        return JSONResponse(machine.described()) if machine else _error(404, "no such sandbox")

    async def _kill(self, request: Request) -> Response:
        found = await self._end(request.path_params["id"])
        return Response(status_code=204) if found else _error(404, "no such sandbox")

    async def _timeout(self, request: Request) -> Response:
        machine = self.machines.get(request.path_params["id"])
        if machine is None:
            return _error(404, "no such sandbox")
        machine.end = datetime.now(UTC) + timedelta(seconds=(await request.json())["timeout"])
        return Response(status_code=204)

    async def _freeze(self, request: Request) -> Response:
        machine = self.machines.get(request.path_params["id"])
        if machine is None:
            return _error(404, "no such sandbox")
        body = await request.json()
        files_alone = body.get("memory") is False
        if files_alone and not self.freezes_files:
            return _error(400, "snapshots of files alone are not enabled for this team")
        id_ = f"s{secrets.token_hex(8)}"
        if not files_alone:
            self._with_processes.add(id_)
        self.snapshots[id_] = (await machine.sandbox.snapshot(), body.get("name") or "")
        return JSONResponse(self._described(id_), 201)

    async def _frozen(self, request: Request) -> Response:
        name = request.query_params.get("name")
        return JSONResponse([self._described(id_) for id_, row in self.snapshots.items() if name in (None, row[1])])

    async def _thaw(self, request: Request) -> Response:
        found = self.snapshots.pop(request.path_params["id"], None)
        if found is None:
            return _error(404, "no such snapshot")
        await self._backend.discard(found[0])
        return Response(status_code=204)

    def _add(self, name: str, snapshot: Snapshot) -> None:
        self.snapshots[name] = (snapshot, "")

    def _described(self, id_: str) -> dict[str, object]:
        name = self.snapshots[id_][1]
        return {"snapshotID": id_, "names": [f"team/{name}:default"] if name else []}

    def _machine_of(self, headers: Mapping[str, str]) -> Machine:
        return self.machines[headers["e2b-sandbox-id"]]

    async def _end(self, id_: str) -> bool:
        machine = self.machines.pop(id_, None)
        if machine is not None:
            await machine.kill()
        return machine is not None

    async def _reap(self) -> None:
        """Kills machines whose time is up."""
        while True:
            await asyncio.sleep(0.05)
            now = datetime.now(UTC)
            for id_ in [id_ for id_, machine in self.machines.items() if machine.end < now]:
                await self._end(id_)


def _error(status: int, message: str) -> Response:
    return JSONResponse({"code": status, "message": message}, status)


@asynccontextmanager
async def serving(backend: SandboxBackend, base: Image) -> AsyncIterator[tuple[Cloud, str]]:
    """The cloud, and the address it listens on."""
    cloud = Cloud(backend, base)
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(cloud, log_level="warning", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None
    serve = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started:  # noqa: ASYNC110 - it tells no other way
        await asyncio.sleep(0.01)
    try:
        yield cloud, f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        await cloud.close()
        server.should_exit = True
        await serve
        listening.close()
