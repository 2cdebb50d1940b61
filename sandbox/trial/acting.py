"""Lets an agent act within its time, and tells how that ended; the agent is foreign code that may do anything."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.errors import SandboxError
from sandbox.task.phase import agent_env, agent_timeout, agent_user
from sandbox.trial.agent import AgentContext, AgentSandbox, AgentUnavailableError, PreparedAgent
from sandbox.trial.result import AgentRun

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from sandbox.protocol import Sandbox
    from sandbox.task import Task, TaskStep
    from sandbox.trial.agent import Agent

PREPARE_SECONDS = 360.0
_GRACE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Ending:
    """How some foreign work ended.

    Attributes:
        timed_out: Its time was up and it was cancelled.
        error: What it raised, if it raised.
    """

    timed_out: bool = False
    error: BaseException | None = None


async def ending(work: Coroutine[object, object, object], timeout: float | None) -> Ending:
    """Runs work that may raise anything, for at most so many seconds; a cancelled caller cancels it too."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=timeout)
        timed_out = not task.done()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=_GRACE_SECONDS)
    if not task.done():  # it swallows its cancellation; what it started in the sandbox is killed before the tests
        return Ending(timed_out=True)
    if task.cancelled():
        return Ending(timed_out, None if timed_out else asyncio.CancelledError("it cancelled itself"))
    return Ending(timed_out, task.exception())


async def prepare_agent(agent: Agent, sandbox: AgentSandbox) -> None:
    """Lets an agent prepare itself, if it wants to.

    Raises:
        AgentUnavailableError: It failed, or took longer than `PREPARE_SECONDS`.
        SandboxError: The sandbox failed under it.
    """
    if not isinstance(agent, PreparedAgent):
        return
    ended = await ending(agent.prepare(sandbox), PREPARE_SECONDS)
    if ended.timed_out:
        raise AgentUnavailableError(f"the agent {agent.name} was not ready after {PREPARE_SECONDS:g} s")
    if isinstance(ended.error, SandboxError):
        raise ended.error
    if ended.error is not None:
        raise AgentUnavailableError(f"the agent {agent.name} could not get ready: {said(ended.error)}") from ended.error


async def act_on_step(agent: Agent, task: Task, sandbox: Sandbox, step: TaskStep, logs: Path) -> AgentRun:
    """Lets an agent act on one step, after it prepared itself where the step is the first.

    Raises:
        AgentUnavailableError: It cannot act for a reason that is not its own.
        SandboxError: The sandbox failed.
    """
    number = task.steps.index(step) + 1

    def entered(timeout: float | None) -> AgentSandbox:
        context = AgentContext(step.name, number=number, steps=len(task.steps), timeout=timeout, logs=logs)
        workdir = task.config.environment.workdir
        return AgentSandbox(sandbox, context, user=agent_user(task, step), env=agent_env(task), cwd=workdir)

    if number == 1:
        await prepare_agent(agent, entered(None))
    timeout = agent_timeout(task, step)
    place, began = entered(timeout), time.monotonic()
    ended = await ending(agent.act(step.instruction, place, place.context), timeout)
    error = ended.error
    if isinstance(error, SandboxError | AgentUnavailableError):
        raise error
    return AgentRun(
        turns=place.context.turns,
        usage=place.context.usage,
        timed_out=ended.timed_out or place.context.is_out_of_time,
        error="" if error is None else said(error),
        error_type="" if error is None else type(error).__name__,
        seconds=time.monotonic() - began,
    )


def said(error: BaseException) -> str:
    """An error in one line: its class and its words."""
    return " ".join(f"{type(error).__name__}: {error}".split())
