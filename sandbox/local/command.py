"""Runs one command on this machine: prelude, pipes, time-out, exit status, clean-up."""

from __future__ import annotations

import asyncio
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.bubblewrap.client import readable
from sandbox.capture import InputPipe, OutputPipe
from sandbox.errors import SandboxError
from sandbox.local import marks
from sandbox.protocol import ExecResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sandbox.local.marks import Mark
    from sandbox.protocol import Stream

# Sets limits, joins control groups (the words before `--`), then becomes the command. Sizes are in blocks of 512 bytes.
_PRELUDE = (
    'unset PWD OLDPWD; ulimit -c 0; ulimit -f "$1" && ulimit -n "$2" || exit 125; shift 2; '
    'while [ "$1" != -- ]; do echo 0 >"$1" || exit 125; shift; done; shift; exec "$@"'
)
_BLOCKS_A_MIB = 2048
_KILLED = 128 + 9
_GRACE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Spec:
    """A command, ready to run.

    Attributes:
        arguments: The program and its arguments; looked up in PATH of `env`.
        env: All its variables.
        cwd: Where it runs.
        stdin: What it is fed; `None` for nothing.
        timeout: Seconds it may take.
        output_bytes: Bytes kept of each output.
        file_size_mb: Size of a file it writes, MiB.
        open_files: Files it may have open.
        joins: Files by which it joins its control groups.
        tell: Told of each piece of output.
    """

    arguments: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    stdin: bytes | None
    timeout: float
    output_bytes: int
    file_size_mb: int
    open_files: int
    joins: tuple[Path, ...]
    tell: Callable[[Stream, bytes], None] | None

    def line(self) -> list[str]:
        """The prelude, and the command behind it."""
        limits = [str(self.file_size_mb * _BLOCKS_A_MIB), str(self.open_files)]
        return ["/bin/sh", "-c", _PRELUDE, "sh", *limits, *map(str, self.joins), "--", *self.arguments]


class RunningCommand:
    """One command, from its start to its result.

    Args:
        spec: What to run.
        mark: Makes the mark of its processes, of the number of the first.
    """

    def __init__(self, spec: Spec, mark: Callable[[int], Mark]) -> None:
        self._spec = spec
        self._mark = mark
        tell = spec.tell
        self._outputs = (
            OutputPipe(spec.output_bytes, None if tell is None else lambda data: tell("stdout", data)),
            OutputPipe(spec.output_bytes, None if tell is None else lambda data: tell("stderr", data)),
        )
        self._input = None if spec.stdin is None else InputPipe(spec.stdin)

    async def run(self) -> ExecResult:
        """Starts it and waits for its end.

        Raises:
            SandboxError: It could not be started: no such folder, no more processes.
        """
        loop = asyncio.get_running_loop()
        started = loop.time()
        process = self._start()
        mark = self._mark(process.pid)
        handle = os.pidfd_open(process.pid)
        timed_out = False
        try:
            async with asyncio.timeout(self._spec.timeout):
                await readable(handle)
        except TimeoutError:
            timed_out = True
            await asyncio.to_thread(marks.kill, mark)
        except asyncio.CancelledError:
            await asyncio.shield(asyncio.to_thread(marks.kill, mark))
            raise
        finally:
            os.close(handle)
            status = process.wait()
            if self._input:
                self._input.close()
        seconds = loop.time() - started
        await self._settle()
        out, err = (pipe.capture for pipe in self._outputs)
        exit_code = _KILLED if timed_out else 128 - status if status < 0 else status
        return ExecResult(out.result(), err.result(), exit_code, timed_out, out.truncated or err.truncated, seconds)

    def leftovers(self) -> list[OutputPipe]:
        """Pipes that background processes still hold."""
        return [pipe for pipe in self._outputs if not pipe.ended.done()]

    def close(self) -> None:
        """Closes every pipe."""
        for pipe in self._outputs:
            pipe.close()
        if self._input:
            self._input.close()

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self._spec.line(),
                stdin=self._input.theirs if self._input else subprocess.DEVNULL,
                stdout=self._outputs[0].theirs,
                stderr=self._outputs[1].theirs,
                cwd=self._spec.cwd,
                env=dict(self._spec.env),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise SandboxError(f"the command could not be started in {self._spec.cwd}: {error}") from error
        finally:
            for pipe in self._outputs:
                pipe.handed_over()
            if self._input:
                self._input.handed_over()

    async def _settle(self) -> None:
        """Takes the rest of the output; what background processes write later belongs to nobody."""
        for pipe in self._outputs:
            pipe.drain()
        open_ends = [pipe.ended for pipe in self._outputs if not pipe.ended.done()]
        if open_ends:
            await asyncio.wait(open_ends, timeout=_GRACE_SECONDS)
        for pipe in self._outputs:
            pipe.finish()
