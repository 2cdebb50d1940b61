"""One build in the engine, with a time limit, and what its failure means."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import tempfile
from collections import deque
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING
from urllib.parse import urlencode

from sandbox.docker.context import write_context
from sandbox.docker.wire import send_file
from sandbox.errors import ImageError, SandboxError, UnsupportedTaskError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.docker.engine import Engine
    from sandbox.task import Task

_KEPT_LINES = 30
_OUTAGE = re.compile(
    r"dial tcp|no such host|i/o timeout|TLS handshake|Client\.Timeout|connection (?:refused|reset)|toomanyrequests|"
    r"failed to resolve source metadata|no space left on device|temporary failure|Service Unavailable",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be built.

    Attributes:
        task: Whose environment.
        dockerfile: Its Dockerfile, with the images in it that this engine has.
        name: The image's name.
        labels: Its labels.
        args: Values of the Dockerfile's `ARG`s.
    """

    task: Task
    dockerfile: str
    name: str
    labels: Mapping[str, str]
    args: Mapping[str, str]


async def build_image(engine: Engine, order: Order) -> None:
    """Builds a task's image, within the task's `build_timeout_sec`.

    Raises:
        ImageError: It does not build: the task's fault; has the last lines of the build log.
        UnsupportedTaskError: The Dockerfile needs BuildKit, and the engine's builder is another.
        SandboxError: The engine or a registry failed.
    """
    task = order.task
    seconds = task.config.environment.build_timeout_sec
    log: deque[str] = deque(maxlen=_KEPT_LINES)
    facts = await engine.connect()
    with tempfile.TemporaryFile() as context:
        await asyncio.to_thread(write_context, task, order.dockerfile, context)
        try:
            async with asyncio.timeout(seconds):
                if facts.buildkit and await _has_buildx():
                    failure = await _build_by_buildx(facts.address, order, context, log)
                else:
                    failure = await _build_by_engine(engine, order, context, log)
        except TimeoutError:
            raise ImageError(
                f"{task.name}: the image was not built within {seconds:g} s ([environment] build_timeout_sec):\n"
                + "\n".join(log)
            ) from None
    if failure and "requires BuildKit" in failure:
        raise UnsupportedTaskError(
            f"{task.name}: the Dockerfile needs BuildKit ({failure.partition('.')[0]}), and the plain builder is all "
            "there is: install the buildx plug-in of the docker program (Debian: docker-buildx)"
        )
    if failure and _OUTAGE.search(failure):
        raise SandboxError(f"{task.name}: the image cannot be built now: {failure}")
    if failure:
        raise ImageError(f"{task.name}: the image does not build: {failure}\n" + "\n".join(log))


async def _build_by_engine(engine: Engine, order: Order, context: IO[bytes], log: deque[str]) -> str:
    """Lets the engine's own builder do it; what went wrong, or ""."""
    facts = await engine.connect()
    size = context.tell()
    context.seek(0)
    query = {
        "t": order.name,
        "labels": json.dumps(dict(order.labels)),
        "buildargs": json.dumps(dict(order.args)),
        "rm": "1",
        "forcerm": "1",
    }
    path = f"/v{engine.client.api.api_version}/build?{urlencode(query)}"
    stream = await send_file(facts.address, path, context, size, {"Content-Type": "application/x-tar"})
    failure, rest, broken = "", b"", None
    try:
        while data := await stream.reader.read(1 << 16):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                failure = _heard(line, log) or failure
    except OSError as error:
        broken = error
    finally:
        stream.close()  # before the end, this stops the build
    failure = _heard(rest, log) or failure
    if broken is not None and not failure and not any("Successfully" in row for row in log):
        raise SandboxError(f"the Docker engine broke off a build: {broken}") from broken
    return failure


def _heard(line: bytes, log: deque[str]) -> str:
    """Takes one message of the builder; the error that it tells, or ""."""
    if not line.strip():
        return ""
    try:
        told = json.loads(line)
    except ValueError:
        return ""
    if "stream" in told:
        log.extend(row for row in str(told["stream"]).splitlines() if row.strip())
    if "error" in told:
        return str(told["error"]) or "no reason given"
    return ""


async def _has_buildx() -> bool:
    program = shutil.which("docker")
    if program is None:
        return False
    process = await asyncio.create_subprocess_exec(
        program, "buildx", "version", stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    return await process.wait() == 0


async def _build_by_buildx(address: str | tuple[str, int], order: Order, context: IO[bytes], log: deque[str]) -> str:
    """Lets BuildKit do it, which only the command line speaks to; what went wrong, or ""."""
    context.seek(0)
    arguments = ["docker", "buildx", "build", "--load", "--progress=plain", "--tag", order.name]
    arguments += [word for label in order.labels.items() for word in ("--label", "=".join(label))]
    arguments += [word for arg in order.args.items() for word in ("--build-arg", "=".join(arg))]
    process = await asyncio.create_subprocess_exec(
        *arguments,
        "-",
        stdin=context,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "DOCKER_HOST": _url(address)},
    )
    assert process.stdout is not None  # noqa: S101 - as asked for
    try:
        while line := await process.stdout.readline():
            if row := line.decode("utf-8", "replace").rstrip():
                log.append(row)
        code = await process.wait()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    return "" if code == 0 else (log[-1] if log else f"docker buildx build ended with status {code}")


def _url(address: str | tuple[str, int]) -> str:
    """The engine that builds is the one that runs, whatever the command line's own context says."""
    return f"unix://{address}" if isinstance(address, str) else f"tcp://{address[0]}:{address[1]}"
