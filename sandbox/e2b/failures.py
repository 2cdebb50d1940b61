"""The one boundary to the `e2b` package: its errors become ours, and what may be tried again is."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import httpx
from connectrpc.errors import ConnectError
from e2b.envd.rpc import handle_rpc_exception
from e2b.exceptions import (
    AuthenticationException,
    BuildException,
    RateLimitException,
    SandboxException,
    SandboxNotFoundException,
    SandboxNotRunningException,
    SandboxUnreachableException,
    ServiceBusyException,
)
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from sandbox.errors import SandboxError, SandboxLostError, SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

T = TypeVar("T")

FOREIGN = (
    SandboxException,
    AuthenticationException,
    ServiceBusyException,
    BuildException,
    ConnectError,
    httpx.HTTPError,
    ConnectionError,
)
"""What a call into the package may raise."""

KEY_MISSING = (
    "the e2b back end needs an API key: set E2B_API_KEY (https://e2b.dev/dashboard), or use another back end "
    "(--sandbox bubblewrap)"
)
_SERVER_ERRORS = 500
_ATTEMPTS = 6
_LONGEST_WAIT_SECONDS = 8.0


@contextmanager
def boundary(what: str) -> Iterator[None]:
    """Turns every error of the package into one of ours.

    Args:
        what: What was tried, for the message.

    Raises:
        SandboxLostError: The sandbox is gone.
        SandboxUnavailableError: The key is missing or wrong.
        SandboxError: The service failed.
    """
    try:
        yield
    except FOREIGN as error:
        if isinstance(error.__cause__, asyncio.CancelledError):  # the package hides a cancellation
            raise error.__cause__ from error
        raise translated(what, error) from error


def translated(what: str, error: BaseException) -> SandboxError:
    """Our error for one of the package's."""
    if isinstance(error, ConnectError):
        mapped = handle_rpc_exception(error)
        error = mapped if isinstance(mapped, FOREIGN) else error
    if isinstance(error, SandboxNotRunningException | SandboxNotFoundException):
        return SandboxLostError(f"{what}: the sandbox is gone (killed from outside, or past its time-out): {error}")
    if isinstance(error, AuthenticationException):
        return SandboxUnavailableError(f"{what}: the E2B service refuses the API key in E2B_API_KEY: {error}")
    if isinstance(error, RateLimitException):
        return SandboxError(f"{what}: the E2B service's rate limit holds on: {error}. Run fewer sandboxes at once")
    return SandboxError(f"{what}: the E2B service failed: {error or type(error).__name__}")


def may_pass(error: BaseException) -> bool:
    """Whether the same call may well succeed a little later: overload, an error of the server, a lost connection."""
    if isinstance(error, ConnectError):
        error = handle_rpc_exception(error)
    if isinstance(error, SandboxNotRunningException):
        return False
    if isinstance(error, RateLimitException | ServiceBusyException | SandboxUnreachableException):
        return True
    if isinstance(error, SandboxException):
        return (error.status_code or 0) >= _SERVER_ERRORS
    return isinstance(error, httpx.TransportError | ConnectionError)


async def attempted(what: str, call: Callable[[], Awaitable[T]]) -> T:
    """Makes a call that may be made twice, again and again with growing pauses while the failure may pass.

    Raises:
        SandboxError: It still fails; see `boundary`.
    """
    retrying = AsyncRetrying(
        retry=retry_if_exception(may_pass),
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_random_exponential(multiplier=0.1, max=_LONGEST_WAIT_SECONDS),
        reraise=True,
    )

    async def once() -> T:  # the retrying awaits what a coroutine function gives, and nothing else
        return await call()

    with boundary(what):
        return await retrying(once)
