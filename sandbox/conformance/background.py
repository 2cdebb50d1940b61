"""Processes that checks leave running in a sandbox, and whether they still run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.conformance.checks import expect

if TYPE_CHECKING:
    from sandbox.conformance.stage import Stage
    from sandbox.protocol import Sandbox

_PROGRAMS = Path(__file__).parent / "programs"
_WAIT_SECONDS = 20.0
_STILL_SECONDS = 0.8


async def put_program(stage: Stage, sandbox: Sandbox, name: str) -> str:
    """Writes one of `sandbox/conformance/programs` into a sandbox; returns its path there."""
    path = f"{stage.place}/{name}.py"
    await sandbox.write_file(path, (_PROGRAMS / f"{name}.py").read_bytes())
    return path


async def beats(sandbox: Sandbox, file: str) -> bool:
    """Whether a process still adds to a file; waits for it to begin, or to go on, for as long as it takes."""
    loop = asyncio.get_running_loop()
    until = loop.time() + _WAIT_SECONDS
    before = await _size(sandbox, file)
    while loop.time() < until:
        await asyncio.sleep(0.1)
        if await _size(sandbox, file) > before:
            return True
    return False


async def is_still(sandbox: Sandbox, file: str) -> bool:
    """Whether no process adds to a file any more."""
    before = await _size(sandbox, file)
    await asyncio.sleep(_STILL_SECONDS)
    return await _size(sandbox, file) == before


async def works_after(sandbox: Sandbox, what: str) -> None:
    """Makes sure that the next command runs.

    Raises:
        PromiseBrokenError: It does not.
    """
    result = await sandbox.exec("echo alive", timeout=60)
    expect(
        result.stdout == b"alive\n",
        f"the next command to work after {what}",
        f"exit status {result.exit_code}, {result.stdout!r}, {result.stderr!r}",
        "contain what a command does to its own processes; the sandbox lives on",
    )


async def _size(sandbox: Sandbox, file: str) -> int:
    result = await sandbox.exec(["stat", "-c", "%s", file], cwd="/")
    return int(result.text) if result.ok else -1
