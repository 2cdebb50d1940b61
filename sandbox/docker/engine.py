"""The way to the Docker engine: its blocking client run in threads, and its errors made ours at one boundary."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import docker
from docker.errors import APIError, DockerException, NotFound
from docker.utils import version_gte
from requests.exceptions import RequestException

from sandbox.errors import SandboxError, SandboxLostError, SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

P = ParamSpec("P")
T = TypeVar("T")

MOST_CALLS = 64
"""Calls to the engine at once; 32 sandboxes make two each at most times."""

_CONNECT_SECONDS = 10
_BUILDKIT_API = "1.39"
_TCP = re.compile(r"(?:http|tcp)://([^/:]+|\[[^\]]+\]):(\d+)/?")


@dataclass(frozen=True, slots=True)
class Facts:
    """What the engine is.

    Attributes:
        address: Path of its socket, or host and port.
        info: What `docker info` says.
        buildkit: Whether BuildKit is in it (Docker 18.09); its `build` call speaks to the plain builder all the same.
    """

    address: str | tuple[str, int]
    info: Mapping[str, object]
    buildkit: bool

    def has(self, ability: str) -> bool:
        """Whether a field of `info` is there and true: `MemoryLimit`, `PidsLimit`, `CpuCfsQuota`."""
        return bool(self.info.get(ability))


class Engine:
    """A connection that many tasks share.

    Args:
        timeout: Seconds that one answer may take.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._threads: ThreadPoolExecutor | None = None
        self._client: docker.DockerClient | None = None
        self._facts: Facts | None = None
        self._connecting = asyncio.Lock()

    @property
    def client(self) -> docker.DockerClient:
        """The SDK's client; `connect` comes first."""
        assert self._client is not None  # noqa: S101 - whoever calls has connected
        return self._client

    async def connect(self) -> Facts:
        """Connects on first use, and says what the engine is.

        Raises:
            SandboxUnavailableError: No engine answers, or this user may not speak to it.
        """
        async with self._connecting:
            if self._facts is None:
                self._facts = await self.call("connecting", self._connect)
        return self._facts

    async def call(self, what: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs a blocking call in a thread.

        Args:
            what: What is being done, for the message of an error.
            function: The call.
            args: Its arguments.
            kwargs: Its arguments by name.

        Raises:
            SandboxLostError: What was asked about is gone.
            SandboxError: The engine refused or did not answer.
        """
        return await asyncio.get_running_loop().run_in_executor(
            self._pool(), lambda: call_engine(what, function, *args, **kwargs)
        )

    def close(self) -> None:
        """Closes the connections; the next call opens them again."""
        if self._client is not None:
            self._client.close()
        if self._threads is not None:
            self._threads.shutdown(wait=False)
        self._client = self._facts = self._threads = None

    def _pool(self) -> ThreadPoolExecutor:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(MOST_CALLS, thread_name_prefix="docker")
        return self._threads

    def _connect(self) -> Facts:
        try:
            # The first word with an engine that is not there should not take as long as a slow start may.
            client = docker.from_env(max_pool_size=MOST_CALLS, timeout=_CONNECT_SECONDS)
            info = client.info()
            buildkit = version_gte(client.api.api_version, _BUILDKIT_API)
        except (DockerException, RequestException, OSError, ValueError) as error:
            raise SandboxUnavailableError(_unavailable(error)) from error
        client.api.timeout = max(1, int(self._timeout))
        self._client = client
        return Facts(_address(client), info, buildkit)


def call_engine(what: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Calls and makes the engine's errors ours."""
    with engine_errors(what):
        return function(*args, **kwargs)


@contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """The boundary: no error of the SDK or of its HTTP client leaves it.

    Raises:
        SandboxLostError: The engine does not know the container or image (any more).
        SandboxError: Anything else it refuses, or no answer.
    """
    try:
        yield
    except NotFound as error:
        raise SandboxLostError(f"{what}: {said(error)}") from error
    except (DockerException, RequestException, OSError) as error:
        raise SandboxError(f"{what}: {said(error)}") from error


def said(error: Exception) -> str:
    """What the engine said, in one line."""
    text = error.explanation if isinstance(error, APIError) and error.explanation else str(error)
    return " ".join(str(text).split()) or type(error).__name__


def _address(client: docker.DockerClient) -> str | tuple[str, int]:
    """Where commands are attached to: the SDK's own door cannot tell the end of input apart from the end of talk.

    Raises:
        SandboxUnavailableError: It is reached in a way that has no half-closed connections.
    """
    base = str(client.api.base_url)
    if base == "http+docker://localhost":
        adapter = client.api.get_adapter(base)
        return str(getattr(adapter, "socket_path", "/var/run/docker.sock"))
    if match := _TCP.fullmatch(base):
        return match[1].strip("[]"), int(match[2])
    raise SandboxUnavailableError(
        f"the Docker engine at {base} is reached by TLS or ssh, and the docker back end speaks to a socket only: "
        "forward it (ssh -N -L /tmp/engine.sock:/var/run/docker.sock HOST) and set DOCKER_HOST=unix:///tmp/engine.sock"
    )


def _unavailable(error: Exception) -> str:
    text = said(error)
    if "Permission denied" in text or "PermissionError" in text:
        remedy = "this user may not speak to it: add it to the group docker and log in again, or use rootless Docker"
    else:
        remedy = "start it (systemctl start docker), or set DOCKER_HOST to where one listens"
    return (
        f"no Docker engine answers ({text}): {remedy}. The bubblewrap back end needs no engine (--sandbox bubblewrap)"
    )
