"""Back ends that break one promise each, around a real one: what the checks are there to catch."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sandbox.errors import SandboxError
from sandbox.protocol import NO_NETWORK, Limits, Network, Snapshot, Stale

if TYPE_CHECKING:
    from sandbox.protocol import Capabilities, ExecResult, Sandbox, SandboxBackend


class WrappedSandbox:
    """Hands everything on."""

    def __init__(self, inner: Sandbox, backend: Wrapped) -> None:
        self.inner = inner
        self.backend = backend

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class Wrapped:
    """Hands everything on."""

    sandbox_class = WrappedSandbox

    def __init__(self, inner: SandboxBackend) -> None:
        self.inner = inner
        self.name = inner.name

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def start(self, origin: Any, **more: Any) -> Any:
        return self.sandbox_class(await self.inner.start(origin, **more), self)


class Kept(Wrapped):
    """Breaks nothing, and is not closed by those who take it for their own."""

    async def close(self) -> None:
        return None


def breaking(**methods: Any) -> type[Wrapped]:
    """A back end whose sandboxes have other methods: `name=coroutine function of (sandbox, …)`."""
    sandbox_class = type("BrokenSandbox", (WrappedSandbox,), methods)
    return type("Broken", (Wrapped,), {"sandbox_class": sandbox_class})


async def leaves_children(sandbox: WrappedSandbox, command: Any, **more: Any) -> ExecResult:
    """Gives up waiting when the time is up, and kills nothing."""
    timeout = more.pop("timeout", None)
    running = asyncio.ensure_future(sandbox.inner.exec(command, **more))
    done, _ = await asyncio.wait({running}, timeout=timeout)
    if done:
        return running.result()
    running.add_done_callback(lambda task: task.cancelled() or task.exception())
    result = await sandbox.inner.exec("true")
    return replace(result, timed_out=True, exit_code=137)


async def says_no_time_out(sandbox: WrappedSandbox, command: Any, **more: Any) -> ExecResult:
    return replace(await sandbox.inner.exec(command, **more), timed_out=False)


async def raises_for_status(sandbox: WrappedSandbox, command: Any, **more: Any) -> ExecResult:
    result = await sandbox.inner.exec(command, **more)
    if result.exit_code:
        raise SandboxError(f"exit status {result.exit_code}")
    return result


async def decodes_output(sandbox: WrappedSandbox, command: Any, **more: Any) -> ExecResult:
    result = await sandbox.inner.exec(command, **more)
    return replace(result, stdout=result.text.encode(), stderr=result.error_text.encode())


async def joins_streams(sandbox: WrappedSandbox, command: Any, **more: Any) -> ExecResult:
    result = await sandbox.inner.exec(command, **more)
    return replace(result, stdout=result.stdout + result.stderr, stderr=b"")


async def tells_at_the_end(sandbox: WrappedSandbox, command: Any, **more: Any) -> ExecResult:
    tell = more.pop("on_output", None)
    result = await sandbox.inner.exec(command, **more)
    if tell:
        tell("stdout", result.stdout)
        tell("stderr", result.stderr)
    return result


async def quotes_no_arguments(sandbox: WrappedSandbox, command: Any, **more: Any) -> ExecResult:
    return await sandbox.inner.exec(command if isinstance(command, str) else " ".join(command), **more)


async def keeps_the_environment(sandbox: WrappedSandbox, command: Any, **more: Any) -> ExecResult:
    more.pop("clean_env", None)
    return await sandbox.inner.exec(command, **more)


async def ignores_users(sandbox: WrappedSandbox, command: Any, **more: Any) -> ExecResult:
    more.pop("user", None)
    return await sandbox.inner.exec(command, **more)


async def holds_up_the_result(sandbox: WrappedSandbox, command: Any, **more: Any) -> ExecResult:
    """Waits for whoever holds the pipes, as `subprocess.communicate` does."""
    script = command if isinstance(command, str) else None
    return await sandbox.inner.exec(f"({script}) | cat" if script else command, **more)


async def writes_through_links(sandbox: WrappedSandbox, path: str, content: bytes, **more: Any) -> None:
    await sandbox.inner.exec('mkdir -p "$(dirname "$0")"; cat >"$0"', stdin=content, env={"BASH_ARGV0": path})


async def reads_through_links(sandbox: WrappedSandbox, path: str, **more: Any) -> bytes:
    result = await sandbox.inner.exec(["cat", path], timeout=5)
    if not result.ok:
        raise FileNotFoundError(path)
    return result.stdout


async def removes_through_links(sandbox: WrappedSandbox, path: str) -> None:
    await sandbox.inner.exec(["rm", "-rf", f"{path}/"])


async def follows_links_out(sandbox: WrappedSandbox, source: str, target: Any, **more: Any) -> None:
    await sandbox.inner.exec(["cp", "-rL", source, "/srv/copy"])
    await sandbox.inner.download("/srv/copy", target, **more)


async def forgets_removals(sandbox: WrappedSandbox, *more: Any) -> Any:
    return tuple(one for one in await sandbox.inner.changed_files(*more) if one.kind != "removed")


async def counts_nothing(sandbox: WrappedSandbox) -> int:
    await sandbox.inner.kill_processes()
    return 0


async def kills_nothing(sandbox: WrappedSandbox) -> int:
    return 3


async def stops_nothing(sandbox: WrappedSandbox) -> None:
    return None


class Uncapped(Wrapped):
    """Keeps all output."""

    async def start(self, origin: Any, *, limits: Limits | None = None, **more: Any) -> Any:
        asked = replace(limits or Limits(), output_bytes=1 << 30)
        return self.sandbox_class(await self.inner.start(origin, limits=asked, **more), self)


class SharedForks(Wrapped):
    """Takes the sandbox that was snapshotted for its own fork."""

    def __init__(self, inner: SandboxBackend) -> None:
        super().__init__(inner)
        self.latest: Any = None

    async def start(self, origin: Any, **more: Any) -> Any:
        if not isinstance(origin, Snapshot) or self.latest is None:
            self.latest = await super().start(origin, **more)
        return self.latest


class EmptyForks(Wrapped):
    """Starts every fork from the image."""

    async def start(self, origin: Any, **more: Any) -> Any:
        return await super().start(origin.image if isinstance(origin, Snapshot) else origin, **more)


class LazySweep(Wrapped):
    """Sweeps nothing."""

    async def sweep(self, **more: Any) -> int:
        return 0


class BlindToStale(Wrapped):
    """Knows of nothing stale."""

    async def stale(self, **more: Any) -> tuple[Stale, ...]:
        return ()


class OnHostNetwork(Wrapped):
    """Promises no network and gives this machine's."""

    async def start(self, origin: Any, *, network: Network = NO_NETWORK, **more: Any) -> Any:
        return await super().start(origin, network=Network("host"), **more)


class SilentLimits(Wrapped):
    """Offers no limit on processors, memory and processes, and refuses none."""

    async def capabilities(self) -> Capabilities:
        offered = await self.inner.capabilities()
        return replace(offered, limits=offered.limits - {"cpus", "memory_mb", "processes"})


class FreeMemory(Wrapped):
    """Promises a limit on memory and does not set it."""

    async def start(self, origin: Any, *, limits: Limits | None = None, **more: Any) -> Any:
        return await super().start(origin, limits=replace(limits or Limits(), memory_mb=None), **more)
