"""The trials gates run, each in a fresh sandbox, and running several of them side by side."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from sandbox.trial.steps import run_noop, run_reference

if TYPE_CHECKING:
    from collections.abc import Collection, Coroutine, Mapping, Sequence

    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task
    from sandbox.trial.result import TrialResult

T = TypeVar("T")


async def fresh_reference(
    task: Task,
    sandboxes: Sandboxes,
    *,
    without: Collection[str] = (),
    solution_of: Task | None = None,
    rename: Mapping[str, str] | None = None,
) -> TrialResult:
    """`run_reference` in a sandbox of its own."""
    async with sandboxes.running(task) as sandbox:
        return await run_reference(task, sandbox, without=without, solution_of=solution_of, rename=rename)


async def fresh_noop(task: Task, sandboxes: Sandboxes) -> TrialResult:
    """`run_noop` in a sandbox of its own."""
    async with sandboxes.running(task) as sandbox:
        return await run_noop(task, sandbox)


async def together(runs: Sequence[Coroutine[None, None, T]]) -> list[T]:
    """Runs all side by side and returns their results in order; when one fails, the others are cancelled.

    Raises:
        BaseException: The first failure in order of `runs`, itself and not in a group: the panel tells errors apart by
            their class.
    """
    tasks: list[asyncio.Task[T]] = []
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(run) for run in runs]
    except BaseExceptionGroup:
        for task in tasks:
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error from None
        raise
    return [task.result() for task in tasks]
