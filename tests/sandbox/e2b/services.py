"""The two services inside a machine, as the wheel's own generated servers want them; and the one over plain HTTP."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from connectrpc.code import Code
from connectrpc.errors import ConnectError
from e2b.envd.filesystem import filesystem_pb as fs
from e2b.envd.filesystem.filesystem_connect import Filesystem
from e2b.envd.process import process_pb as ps
from e2b.envd.process.process_connect import Process
from protobuf import Oneof
from protobuf.wkt import Timestamp
from starlette.responses import JSONResponse, StreamingResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from connectrpc.request import RequestContext
    from starlette.requests import Request
    from starlette.responses import Response

    from tests.sandbox.e2b.machine import Machine

Find = "Callable[[Mapping[str, str]], Machine]"


def user_of(ctx: RequestContext) -> str:
    """The name before the colon of a Basic authorization; the service's own default is no root."""
    kind, _, word = ctx.request_headers.get("authorization", "").partition(" ")
    return base64.b64decode(word).decode().partition(":")[0] if kind == "Basic" else "user"


class ProcessService(Process):
    def __init__(self, find: Callable[[Mapping[str, str]], Machine]) -> None:
        self._find = find

    async def start(self, request: ps.StartRequest, ctx: RequestContext) -> AsyncIterator[ps.StartResponse]:
        machine, process = self._find(ctx.request_headers), request.process
        stdin = request.stdin if request.has_field("stdin") else True
        body = {"cmd": process.cmd, "args": list(process.args), "envs": dict(process.envs), "cwd": process.cwd}
        async for told in machine.ask("start", user=user_of(ctx), stdin=stdin, **body):
            yield ps.StartResponse(event=ps.ProcessEvent(event=_event(told)))
            if "end" in told:
                return
        raise ConnectError(Code.UNAVAILABLE, "the connection to the sandbox ended before the stream completed")

    async def list(self, request: ps.ListRequest, ctx: RequestContext) -> ps.ListResponse:
        told = await self._find(ctx.request_headers).answer("processes")
        rows = [ps.ProcessInfo(pid=row["pid"], config=ps.ProcessConfig(cmd=row["cmd"])) for row in told["processes"]]
        return ps.ListResponse(processes=rows)

    async def send_input(self, request: ps.SendInputRequest, ctx: RequestContext) -> ps.SendInputResponse:
        data = base64.b64encode(request.input.input.value).decode()
        await self._find(ctx.request_headers).answer("input", pid=request.process.selector.value, data=data)
        return ps.SendInputResponse()

    async def close_stdin(self, request: ps.CloseStdinRequest, ctx: RequestContext) -> ps.CloseStdinResponse:
        await self._find(ctx.request_headers).answer("close", pid=request.process.selector.value)
        return ps.CloseStdinResponse()

    async def send_signal(self, request: ps.SendSignalRequest, ctx: RequestContext) -> ps.SendSignalResponse:
        machine = self._find(ctx.request_headers)
        await machine.answer("signal", pid=request.process.selector.value, number=request.signal.value)
        return ps.SendSignalResponse()


def _event(told: Mapping[str, object]) -> Oneof:
    if "pid" in told:
        return Oneof("start", ps.ProcessEvent.StartEvent(pid=told["pid"]))
    if "end" in told:
        return Oneof("end", ps.ProcessEvent.EndEvent(exit_code=told["end"]["code"], exited=told["end"]["exited"]))
    (name, data) = next(iter(told.items()))
    return Oneof("data", ps.ProcessEvent.DataEvent(output=Oneof(name, base64.b64decode(data))))


class FilesystemService(Filesystem):
    def __init__(self, find: Callable[[Mapping[str, str]], Machine]) -> None:
        self._find = find

    async def stat(self, request: fs.StatRequest, ctx: RequestContext) -> fs.StatResponse:
        told = await self._find(ctx.request_headers).answer("stat", path=request.path)
        return fs.StatResponse(entry=_entry(told["entry"]))

    async def list_dir(self, request: fs.ListDirRequest, ctx: RequestContext) -> fs.ListDirResponse:
        told = await self._find(ctx.request_headers).answer("list", path=request.path, depth=request.depth)
        return fs.ListDirResponse(entries=[_entry(entry) for entry in told["entries"]])

    async def make_dir(self, request: fs.MakeDirRequest, ctx: RequestContext) -> fs.MakeDirResponse:
        await self._find(ctx.request_headers).answer("mkdir", path=request.path, user=user_of(ctx))
        return fs.MakeDirResponse()

    async def move(self, request: fs.MoveRequest, ctx: RequestContext) -> fs.MoveResponse:
        machine = self._find(ctx.request_headers)
        told = await machine.answer("move", source=request.source, target=request.destination)
        return fs.MoveResponse(entry=_entry(told["entry"]))

    async def remove(self, request: fs.RemoveRequest, ctx: RequestContext) -> fs.RemoveResponse:
        await self._find(ctx.request_headers).answer("remove", path=request.path)
        return fs.RemoveResponse()


def _entry(told: Mapping[str, object]) -> fs.EntryInfo:
    kinds = {"-": fs.FileType.FILE, "d": fs.FileType.DIRECTORY, "L": fs.FileType.SYMLINK}
    seconds, nanos = divmod(told["modified"], 10**9)
    return fs.EntryInfo(
        name=told["name"], path=told["path"], size=told["size"], mode=told["mode"], permissions=told["permissions"],
        owner=told["owner"], group=told["group"], symlink_target=told["link"],
        type=kinds.get(told["permissions"][0], fs.FileType.UNSPECIFIED),
        modified_time=Timestamp(seconds=seconds, nanos=nanos),
    )  # fmt: skip


_STATUS = {Code.NOT_FOUND: 404, Code.INVALID_ARGUMENT: 400, Code.UNAUTHENTICATED: 401}


async def files(machine: Machine, request: Request) -> Response:
    """`/files`: reads one file, or writes the parts of a form, or one file as it is."""
    path = request.query_params.get("path", "")
    try:
        if request.method == "GET":
            chunks = machine.read(path)
            await anext(chunks)
            return StreamingResponse(chunks, media_type="application/octet-stream")
        if request.headers["content-type"].startswith("multipart/"):
            form = await request.form(max_files=10_000)
            parts = [(path or part.filename, await part.read()) for part in form.getlist("file")]
        else:
            parts = [(path, await request.body())]
        for name, content in parts:
            await machine.answer("write", path=name, data=base64.b64encode(content).decode())
    except ConnectError as error:
        return JSONResponse({"message": error.message}, _STATUS.get(error.code, 500))
    return JSONResponse([{"path": name, "name": name.rpartition("/")[2], "type": "file"} for name, _ in parts])
