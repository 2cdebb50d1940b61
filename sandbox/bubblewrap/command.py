"""Runs one command in a sandbox from the host's side: pipes, time-out, exit status, clean-up."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from sandbox.bubblewrap.client import raise_error
from sandbox.capture import InputPipe, OutputPipe
from sandbox.errors import SandboxLostError, UnsupportedTaskError
from sandbox.protocol import ExecResult

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from sandbox.bubblewrap.client import Answer, Launcher
    from sandbox.bubblewrap.wire import Body
    from sandbox.protocol import Stream

_KILLED = 128 + 9
_GRACE_SECONDS = 0.1
_GONE_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Place:
    """What a command needs to know of its sandbox.

    Attributes:
        launcher: Starts it.
        fds: Descriptors that go with the request: the first process, the control groups.
        body: Fields that go with the request: limits, users.
    """

    launcher: Launcher
    fds: dict[str, int]
    body: Body


class RunningCommand:
    """One command, from its start to its result.

    Args:
        place: Where it runs.
        output_bytes: Bytes kept of each output.
        stdin: What it is fed; `None` for nothing at all.
        on_output: Told of each piece of output.
    """

    def __init__(
        self,
        place: Place,
        output_bytes: int,
        stdin: bytes | None,
        on_output: Callable[[Stream, bytes], None] | None = None,
    ) -> None:
        self._place = place
        tell = (partial(on_output, "stdout"), partial(on_output, "stderr")) if on_output else (None, None)
        self._outputs = (OutputPipe(output_bytes, tell[0]), OutputPipe(output_bytes, tell[1]))
        self._input = None if stdin is None else InputPipe(stdin)
        self._keeper: int | None = None
        self._cut_off = ""
        self.rest: Answer | None = None

    def cut_off(self, reason: str) -> None:
        """Has the result say why the command is about to be killed by us."""
        self._cut_off = reason

    async def run(self, body: Body, timeout: float) -> ExecResult:
        """Starts it and waits for its end.

        Raises:
            SandboxLostError: The sandbox died.
            UnsupportedTaskError: The user cannot be had.
        """
        loop = asyncio.get_running_loop()
        answer = self.rest = await self._start(body)
        started = loop.time()
        timed_out = False
        try:
            async with asyncio.timeout(timeout):
                exit_code = await self._follow(answer)
        except TimeoutError:
            timed_out, exit_code = True, _KILLED
            await self._kill(answer)
        except asyncio.CancelledError:
            await asyncio.shield(self._kill(answer))
            raise
        finally:
            seconds = loop.time() - started
            if self._input:
                self._input.close()
        if exit_code is None:
            exit_code = await self._without_keeper()
        if timed_out or answer.over():
            answer.close()
            self.rest = None
        await self._settle()
        out, err = (pipe.capture for pipe in self._outputs)
        note = b""
        if self._cut_off:
            exit_code, note = _KILLED, f"\n[killed with all that ran in this sandbox: {self._cut_off}]\n".encode()
        cut = out.truncated or err.truncated
        return ExecResult(out.result(), err.result() + note, exit_code, timed_out, cut, seconds)

    def leftovers(self) -> list[OutputPipe]:
        """Pipes that background processes still hold."""
        return [pipe for pipe in self._outputs if not pipe.ended.done()]

    def close(self) -> None:
        """Closes every pipe and stops listening."""
        if self.rest is not None:
            self.rest.close()
        for pipe in self._outputs:
            pipe.close()
        if self._input:
            self._input.close()

    async def _start(self, body: Body) -> Answer:
        fds = {**self._place.fds, "stdout": self._outputs[0].theirs, "stderr": self._outputs[1].theirs}
        if self._input:
            fds["stdin"] = self._input.theirs
        try:
            return await self._place.launcher.post("exec", fds, **self._place.body, **body)
        finally:
            for pipe in self._outputs:
                pipe.handed_over()
            if self._input:
                self._input.handed_over()

    async def _follow(self, answer: Answer) -> int | None:
        """The exit status; `None` when the keeper died without telling it."""
        while (told := await answer.next()) is not None:
            if "keeper" in told:
                self._keeper = int(str(told["keeper"]))
            elif "exit" in told:
                return int(str(told["exit"]))
            elif told.get("error") == "user":
                raise UnsupportedTaskError(f"{told['message']}; the docker back end may have it (--sandbox docker)")
            elif "error" in told:
                raise_error("exec", told)
        return None

    async def _kill(self, answer: Answer) -> None:
        await kill_command(self._place, self._keeper, answer)

    async def _without_keeper(self) -> int:
        """The keeper was killed, by the command itself or by another: all that it watched over must go."""
        await _call_killer(self._place, "kill_all", None)
        return _KILLED

    async def _settle(self) -> None:
        """Takes the rest of the output; what background processes write later belongs to nobody."""
        for pipe in self._outputs:
            pipe.drain()
        open_ends = [pipe.ended for pipe in self._outputs if not pipe.ended.done()]
        if open_ends:
            await asyncio.wait(open_ends, timeout=_GRACE_SECONDS)
        for pipe in self._outputs:
            pipe.finish()


async def kill_command(place: Place, keeper: int | None, answer: Answer) -> None:
    """Kills all that a command has started; all in the sandbox when its keeper does not say that nothing is left.

    Args:
        place: Where it runs.
        keeper: Its keeper's process id, if it is known by now.
        answer: What comes of the request that has started it.

    Raises:
        SandboxLostError: The sandbox died, or a process cannot be killed.
    """
    over = False
    try:
        async with asyncio.timeout(_GONE_SECONDS):
            while keeper is None and not over and (told := await answer.next()) is not None:
                keeper, over = (int(str(told["keeper"])) if "keeper" in told else None), "over" in told
    except TimeoutError:
        keeper = None
    if over:  # a short command's end may be told before its keeper's number is: they are told by two processes
        return
    await _call_killer(place, "kill_all" if keeper is None else "kill_tree", keeper)
    try:
        async with asyncio.timeout(_GONE_SECONDS):
            while (told := await answer.next()) is not None:
                over = over or "over" in told
    except TimeoutError:
        raise SandboxLostError("a command outlived its kill: a process hangs in the kernel") from None
    if keeper is not None and not over:
        await _call_killer(place, "kill_all", None)


async def _call_killer(place: Place, op: str, keeper: int | None) -> None:
    try:
        await place.launcher.call(op, {"init": place.fds["init"]}, keeper=keeper or 0)
    except SandboxLostError as error:
        raise SandboxLostError("the sandbox died under the command") from error


async def closing(command: RunningCommand, work: Coroutine[None, None, ExecResult]) -> ExecResult:
    """Runs a command and closes its pipes if it does not come to a result."""
    try:
        return await work
    except BaseException:
        command.close()
        raise
