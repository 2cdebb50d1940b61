# ruff: noqa: PTH103, PTH104, PTH108, PTH110, PTH112, PTH114, PTH118, PTH119, PTH120, PTH123, PTH208, ASYNC230
"""The service inside a test's sandbox, as E2B's own is: starts processes, keeps their pipes, sees the files.

Run in the sandbox by its own Python, standard library only: `python3 envd.py TOKEN`. Prints the port it listens on. One
connection is one request: a line of JSON, answered by lines of JSON.
"""

import asyncio
import base64
import grp
import json
import os
import pwd
import shutil
import stat
import sys

CHUNK = 1 << 15
LETTERS = {stat.S_IFREG: "-", stat.S_IFDIR: "d", stat.S_IFLNK: "L", stat.S_IFIFO: "p", stat.S_IFSOCK: "S"}
processes = {}


class RefusedError(Exception):
    """A request that is answered with an error code of the protocol."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Process:
    """A process, and whoever listens to it."""

    def __init__(self, child, config):
        self.child = child
        self.config = config
        self.listeners = []
        self.seen = []

    async def run(self):
        await asyncio.gather(self._read("stdout"), self._read("stderr"))
        code = await self.child.wait()
        self._tell({"end": {"code": code if code >= 0 else -1, "exited": code >= 0}})
        processes.pop(self.child.pid, None)

    async def _read(self, name):
        while data := await getattr(self.child, name).read(CHUNK):
            self._tell({name: base64.b64encode(data).decode()})

    def _tell(self, event):
        for queue in self.listeners:
            queue.put_nowait(event)


def account(name):
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise RefusedError("unauthenticated", f"invalid username: '{name}'") from None


async def start(body):
    row, cwd = account(body["user"]), body["cwd"] or "/"
    if not os.path.isdir(cwd):
        raise RefusedError("invalid_argument", f"cwd '{cwd}' does not exist")
    env = {"PATH": os.environ["PATH"], "HOME": row.pw_dir, "USER": row.pw_name, "LOGNAME": row.pw_name, **body["envs"]}
    ids = {}
    if row.pw_uid:
        groups = [group.gr_gid for group in grp.getgrall() if row.pw_name in group.gr_mem]
        ids = {"user": row.pw_uid, "group": row.pw_gid, "extra_groups": groups}
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        child = await asyncio.create_subprocess_exec(
            body["cmd"], *body["args"], cwd=cwd, env=env, stdin=pipe if body["stdin"] else nothing,
            stdout=pipe, stderr=pipe, **ids,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise RefusedError("invalid_argument", f"error starting process: {error}") from None
    process = processes[child.pid] = Process(child, body)
    queue = asyncio.Queue()
    process.listeners.append(queue)
    process.task = asyncio.create_task(process.run())
    yield {"pid": child.pid}
    try:
        while True:
            event = await queue.get()
            yield event
            if "end" in event:
                return
    finally:
        process.listeners.remove(queue)


def known(body):
    if body["pid"] not in processes:
        raise RefusedError("not_found", f"process with pid {body['pid']} not found")
    return processes[body["pid"]].child


async def send_input(body):
    child = known(body)
    try:
        child.stdin.write(base64.b64decode(body["data"]))
        await child.stdin.drain()
    except (OSError, AttributeError) as error:
        raise RefusedError("internal", f"error writing to stdin: {error}") from None
    yield {}


async def close_stdin(body):
    known(body).stdin.close()
    yield {}


async def signal(body):
    os.kill(known(body).pid, body["number"])
    yield {}


async def running(_body):
    yield {"processes": [{"pid": pid, "cmd": one.config["cmd"]} for pid, one in processes.items()]}


def entry(path):
    status = os.lstat(path)
    link = None
    if stat.S_ISLNK(status.st_mode):
        link = os.path.realpath(path) if os.path.exists(path) else path
    return {
        "name": os.path.basename(path), "path": path, "size": status.st_size, "mode": stat.S_IMODE(status.st_mode),
        "permissions": LETTERS.get(stat.S_IFMT(status.st_mode), "D") + stat.filemode(status.st_mode)[1:],
        "owner": str(status.st_uid), "group": str(status.st_gid), "modified": status.st_mtime_ns, "link": link,
    }  # fmt: skip


def walk(folder, depth):
    for name in sorted(os.listdir(folder)):
        found = entry(os.path.join(folder, name))
        yield found
        if depth > 1 and found["permissions"][0] == "d":
            yield from walk(found["path"], depth - 1)


async def list_dir(body):
    folder = os.path.realpath(body["path"])
    if not os.path.exists(folder):
        raise RefusedError("not_found", f"path not found: {folder}")
    if not os.path.isdir(folder):
        raise RefusedError("invalid_argument", f"path is not a directory: {folder}")
    yield {"entries": list(walk(folder, body["depth"] or 1))}


async def stat_path(body):
    yield {"entry": entry(body["path"])}


async def make_dir(body):
    if os.path.isdir(body["path"]):
        raise RefusedError("already_exists", "directory already exists")
    os.makedirs(body["path"])
    row = account(body["user"])
    if row.pw_uid:
        os.chown(body["path"], row.pw_uid, row.pw_gid)
    yield {}


async def move(body):
    os.makedirs(os.path.dirname(body["target"]), exist_ok=True)
    os.rename(body["source"], body["target"])
    yield {"entry": entry(body["target"])}


async def remove(body):
    path = body["path"]
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)
    yield {}


async def read(body):
    if os.path.isdir(body["path"]):
        raise RefusedError("invalid_argument", f"path '{body['path']}' is a directory")
    with open(body["path"], "rb") as file:
        yield {}
        while data := file.read(CHUNK):
            yield {"data": base64.b64encode(data).decode()}


async def write(body):
    path = body["path"]
    if os.path.isdir(path):
        raise RefusedError("invalid_argument", f"path is a directory: {path}")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(base64.b64decode(body["data"]))
    yield {}


OPERATIONS = {
    "start": start, "input": send_input, "close": close_stdin, "signal": signal, "processes": running,
    "list": list_dir, "stat": stat_path, "mkdir": make_dir, "move": move, "remove": remove, "read": read,
    "write": write,
}  # fmt: skip


async def serve(reader, writer):
    try:
        body = json.loads(await reader.readline())
        if body["token"] != sys.argv[1]:
            return
        answers = OPERATIONS[body["op"]](body)
        async for answer in answers:
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()
    except RefusedError as error:
        writer.write(json.dumps({"error": error.code, "message": str(error)}).encode() + b"\n")
    except FileNotFoundError as error:
        writer.write(json.dumps({"error": "not_found", "message": str(error)}).encode() + b"\n")
    except ConnectionError:
        pass
    except OSError as error:
        writer.write(json.dumps({"error": "internal", "message": str(error)}).encode() + b"\n")
    finally:
        writer.close()


async def main():
    os.umask(0o022)
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 26)
    with open("/run/envd.port", "w") as file:
        file.write(str(server.sockets[0].getsockname()[1]))
    await server.serve_forever()


asyncio.run(main())
