"""Runs one command at a terminal in a sandbox."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sandbox.bubblewrap.client import raise_error
from sandbox.bubblewrap.command import kill_command
from sandbox.errors import SandboxLostError, UnsupportedTaskError

if TYPE_CHECKING:
    from sandbox.bubblewrap.client import Answer
    from sandbox.bubblewrap.command import Place
    from sandbox.bubblewrap.wire import Body

_KILLED = 128 + 9


async def interact(place: Place, body: Body, terminal_fd: int) -> int:
    """Runs it to its end; see `sandbox.shell.interactive.Interactive.interact`.

    Raises:
        SandboxLostError: The sandbox died.
        UnsupportedTaskError: The user cannot be had.
    """
    fds = {**place.fds, "stdin": terminal_fd, "stdout": terminal_fd, "stderr": terminal_fd}
    answer = await place.launcher.post("exec", fds, **place.body, **body, terminal=True)
    keepers: list[int] = []
    try:
        return await _follow(answer, keepers)
    except asyncio.CancelledError:
        await asyncio.shield(_kill(place, keepers[0] if keepers else None, answer))
        raise
    finally:
        answer.close()


async def _follow(answer: Answer, keepers: list[int]) -> int:
    """The exit status; the keeper's process id goes into `keepers` as soon as it is known."""
    while (told := await answer.next()) is not None:
        if "keeper" in told:
            keepers.append(int(str(told["keeper"])))
        elif "exit" in told:
            return int(str(told["exit"]))
        elif told.get("error") == "user":
            raise UnsupportedTaskError(f"{told['message']}; the docker back end may have it (--sandbox docker)")
        elif "error" in told:
            raise_error("interact", told)
    return _KILLED  # the keeper was killed from inside, and the command with it or before


async def _kill(place: Place, keeper: int | None, answer: Answer) -> None:
    try:
        await kill_command(place, keeper, answer)
    except SandboxLostError:
        return
