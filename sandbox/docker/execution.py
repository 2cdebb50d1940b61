"""A command from the caller's side: what keeps the engine from starting it is mended, or told as a shell tells it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from sandbox.docker.command import NotStarted, Request, RunningCommand
from sandbox.docker.environment import MAX_WORD
from sandbox.errors import SandboxError, SandboxLostError, TransferError, UnsupportedTaskError
from sandbox.protocol import ExecResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox.docker.sandbox import DockerSandbox
    from sandbox.protocol import Stream

_TRIES = 3
_NOT_EXECUTABLE = 126
_NOT_FOUND = 127
_STOPPED = re.compile(r"is not running|stopped container|is paused|cannot exec in a")
_NO_FOLDER = re.compile(r"cwd.*no such file or directory")
_NO_USER = re.compile(r"unable to find (user|group) ([^:]*)")
_MISSING = re.compile(r"executable file not found|no such file or directory")


async def run_command(
    sandbox: DockerSandbox,
    request: Request,
    timeout: float,
    on_output: Callable[[Stream, bytes], None] | None,
    *,
    any_shell: bool,
) -> ExecResult:
    """Runs a command in a sandbox to its end.

    Args:
        sandbox: Where.
        request: What.
        timeout: Seconds it has.
        on_output: Told of each piece of output.
        any_shell: Whether its program is a shell that may also lie elsewhere on the PATH.

    Raises:
        SandboxLostError: The sandbox is gone.
        UnsupportedTaskError: It has no such user.
    """
    if problem := _unusable(request):
        return _refused(problem)
    text = ""
    for _ in range(_TRIES):
        result = await _try(sandbox, request, timeout, on_output)
        sandbox.check()
        if isinstance(result, ExecResult):
            return result
        text = result.text
        if found := _NO_USER.search(text):
            raise UnsupportedTaskError(f"{found[1]} {found[2].strip()!r} is not in the sandbox's /etc/passwd")
        if _STOPPED.search(text):
            await sandbox.run_first_process()
        elif _NO_FOLDER.search(text):
            try:
                await sandbox.make_folder(request.cwd)
            except TransferError as error:
                return _refused(str(error))
        elif any_shell and _MISSING.search(text) and "/" in request.argv[0]:
            request = replace(request, argv=[request.argv[0].rpartition("/")[2], *request.argv[1:]])
        else:
            break
    return _explained(text, request.argv[0])


async def _try(
    sandbox: DockerSandbox, request: Request, timeout: float, on_output: Callable[[Stream, bytes], None] | None
) -> ExecResult | NotStarted:
    parts = sandbox.parts
    async with sandbox.freezing:  # while a snapshot is made nothing can be started
        running = RunningCommand(
            parts.engine,
            parts.address,
            parts.container,
            output_bytes=sandbox.limits.output_bytes,
            on_output=on_output,
            kill=sandbox.kill_command,
            commands=sandbox.commands,
            processes=sandbox.processes,
        )
    try:
        return await running.run(request, timeout)
    except SandboxLostError:
        sandbox.check()
        raise
    except SandboxError as error:
        sandbox.check()
        if not _STOPPED.search(str(error)):
            raise
        return NotStarted(str(error))


def _unusable(request: Request) -> str:
    """Why a command cannot be run at all, or ""."""
    words = [*request.argv, *request.env, request.cwd]
    if not request.argv:
        return "it is empty"
    if any("\0" in word for word in words):
        return "embedded null byte"
    if any(len(word.encode("utf-8", "surrogateescape")) > MAX_WORD for word in words):
        return "Argument list too long"
    return ""


def _explained(text: str, program: str) -> ExecResult:
    """The result of a command that could not be started, in the words a shell would use."""
    text = text.removeprefix("OCI runtime exec failed: exec failed: ")
    if _MISSING.search(text) and "chdir" not in text:
        return ExecResult(b"", f"{program}: command not found\n".encode("utf-8", "replace"), _NOT_FOUND)
    if "permission denied" in text and "chdir" not in text:
        return ExecResult(b"", f"{program}: Permission denied\n".encode("utf-8", "replace"), _NOT_EXECUTABLE)
    return _refused(text)


def _refused(reason: str) -> ExecResult:
    return ExecResult(b"", f"cannot run the command: {reason}\n".encode("utf-8", "replace"), _NOT_EXECUTABLE)
