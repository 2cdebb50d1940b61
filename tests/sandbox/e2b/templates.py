"""The part of a cloud that builds templates: takes the package's build steps and really does them in a sandbox."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from sandbox.protocol import Image, Sandbox, SandboxBackend, Snapshot


class Templates:
    """Builds templates on one base, whatever image they are to stand on.

    Args:
        backend: Has the sandboxes.
        base: What every template stands on.
        add: Takes a finished template.
    """

    def __init__(self, backend: SandboxBackend, base: Image, add: Callable[[str, Snapshot], None]) -> None:
        self._backend = backend
        self._base = base
        self._add = add
        self._archives: dict[str, bytes] = {}
        self._failures: dict[str, str] = {}
        self.names: set[str] = set()
        self.routes = [
            Route("/v3/templates", self._ask, methods=["POST"]),
            Route("/templates/aliases/{name}", self._exists),
            Route("/templates/{id}/files/{hash}", self._link),
            Route("/uploads/{hash}", self._upload, methods=["PUT"]),
            Route("/v2/templates/{id}/builds/{build}", self._build, methods=["POST"]),
            Route("/templates/{id}/builds/{build}/status", self._status),
        ]

    async def _ask(self, request: Request) -> Response:
        name = (await request.json())["name"]
        told = {"templateID": name, "buildID": "b", "public": False, "names": [name], "tags": [], "aliases": []}
        return JSONResponse(told, 202)

    async def _exists(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self.names:
            return JSONResponse({"code": 404, "message": "no such alias"}, 404)
        return JSONResponse({"templateID": name, "public": False})

    async def _link(self, request: Request) -> Response:
        files = request.path_params["hash"]
        url = str(request.base_url) + f"uploads/{files}"
        return JSONResponse({"present": files in self._archives, "url": url}, 201)

    async def _upload(self, request: Request) -> Response:
        self._archives[request.path_params["hash"]] = await request.body()
        return Response()

    async def _build(self, request: Request) -> Response:
        name, asked = request.path_params["id"], await request.json()
        sandbox = await self._backend.start(self._base)
        try:
            failure = await self._steps(sandbox, asked["steps"])
            if failure:
                self._failures[name] = failure
            else:
                self._add(name, await sandbox.snapshot())
                self.names.add(name)
        finally:
            await sandbox.stop()
        return Response(status_code=202)

    async def _steps(self, sandbox: Sandbox, steps: list[dict[str, object]]) -> str:
        """What failed, or ""; users that this sandbox has not are taken for root."""
        folder = "/"
        for step in steps:
            kind, args = step["type"], step.get("args") or []
            if kind == "WORKDIR":
                folder = args[0]
            elif kind == "RUN":
                ran = await sandbox.exec(args[0], cwd=folder)
                if not ran.ok:
                    return f"{args[0]} ended with status {ran.exit_code}: {ran.error_text}"
            elif kind == "COPY":
                with tempfile.TemporaryDirectory() as here:
                    archive = Path(here) / "files.tar.gz"
                    archive.write_bytes(self._archives[step["filesHash"]])
                    await sandbox.upload(archive, "/tmp/files.tar.gz")
                source, target = shlex.quote(args[0]), shlex.quote(args[1])
                script = f"mkdir -p /tmp/c && tar -xzf /tmp/files.tar.gz -C /tmp/c && cp -rT /tmp/c/{source} {target}"
                ran = await sandbox.exec(script, cwd=folder)
                if not ran.ok:
                    return f"COPY: {ran.error_text}"
        return ""

    async def _status(self, request: Request) -> Response:
        name = request.path_params["id"]
        told = {"templateID": name, "buildID": "b", "logs": [], "logEntries": [], "status": "ready"}
        if name in self._failures:
            told |= {"status": "error", "reason": {"message": self._failures[name]}}
        return JSONResponse(told)
