"""Runs a Dockerfile's `RUN` lines in a sandbox of what has been built so far: no image builder, no daemon.

The sandbox is of the same kind as any other; `RUN` there has the network that the back end's `build_network` says, by
default the host's, as with image builders. It runs as root of the sandbox, or as `USER` says. Package managers want
several user ids: they work where `Capabilities.users` holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox.errors import ImageError, UnsupportedTaskError
from sandbox.image.instructions import DOCKERFILE
from sandbox.protocol import Limits

if TYPE_CHECKING:
    from sandbox.bubblewrap.sandbox import BubblewrapSandbox
    from sandbox.image.recipe import Run
    from sandbox.protocol import Stream

# A build is no agent: only what keeps a mistake from taking the machine down.
BUILD_LIMITS = Limits(memory_mb=None, processes=4096, file_size_mb=1 << 16, output_bytes=1 << 16)
_KEPT_LOG = 1 << 16
_SHOWN_LINES = 30


async def run_step(sandbox: BubblewrapSandbox, step: Run, *, seconds: float, users: bool) -> None:
    """Runs one line; what it leaves running is killed.

    Args:
        sandbox: Where.
        step: The line.
        seconds: What is left of the time to build.
        users: Whether the sandbox has users other than root.

    Raises:
        ImageError: It failed, or its time was up: with the last lines it wrote.
        UnsupportedTaskError: It wants a user that no sandbox has here.
    """
    log = bytearray()

    def keep(_stream: Stream, data: bytes) -> None:
        log.extend(data)
        del log[:-_KEPT_LOG]

    where = f"{DOCKERFILE}:{step.line}: RUN {step.text}"
    try:
        result = await sandbox.exec(
            list(step.command),
            env=step.env,
            cwd=step.workdir,
            user=step.user,
            timeout=max(seconds, 0.1),
            clean_env=True,
            on_output=keep,
        )
    except UnsupportedTaskError as error:
        if users:
            raise ImageError(f"{where}: {error}") from error
        raise
    if result.timed_out:
        raise ImageError(f"{where}: the time to build ([environment] build_timeout_sec) was up.{_shown(log)}")
    if result.exit_code:
        raise ImageError(f"{where}: exit status {result.exit_code}.{_shown(log)}")
    await sandbox.kill_processes()


def _shown(log: bytearray) -> str:
    lines = bytes(log).decode("utf-8", "replace").strip().splitlines()[-_SHOWN_LINES:]
    return " The last lines:\n" + "\n".join(lines) if lines else " It wrote nothing."
