"""Runs trials: builds, starts, lets the agent act, verifies, and turns whatever goes wrong into a result."""

from __future__ import annotations

import asyncio
import tempfile
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.errors import ImageError, SandboxError, TaskError, UnsupportedTaskError
from sandbox.task.limits import task_limits
from sandbox.trial.acting import act_on_step
from sandbox.trial.agent import AgentUnavailableError
from sandbox.trial.agents import ORACLE
from sandbox.trial.network import chosen_network
from sandbox.trial.result import AGENT_UNAVAILABLE, IMAGE, SANDBOX, TASK, UNSUPPORTED, Span, TrialResult
from sandbox.trial.steps import run_solution, run_steps

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sandbox.protocol import Capabilities, Network, Sandbox
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task, TaskStep
    from sandbox.trial.agents import AgentChoice
    from sandbox.trial.keeping import TrialFolder
    from sandbox.trial.network import NetworkChoice
    from sandbox.trial.result import AgentRun, SolutionRun, StepResult, TrialFinding

_CODES: tuple[tuple[type[Exception], str], ...] = (
    (TaskError, TASK),
    (ImageError, IMAGE),
    (UnsupportedTaskError, UNSUPPORTED),
    (SandboxError, SANDBOX),
    (AgentUnavailableError, AGENT_UNAVAILABLE),
)


class Trials:
    """Runs trials of one agent.

    Args:
        sandboxes: Where; its bound on sandboxes bounds the trials too.
        agent: Who acts.
        network: Which network each gets.
    """

    def __init__(self, sandboxes: Sandboxes, agent: AgentChoice, *, network: NetworkChoice = "task") -> None:
        self._sandboxes = sandboxes
        self._agent = agent
        self._network: NetworkChoice = network
        self._can: Capabilities | None = None
        self._asking = asyncio.Lock()

    async def run(self, task: Task, *, attempt: int = 1, folder: TrialFolder | None = None) -> TrialResult:
        """One trial; whatever the task, the agent or the sandbox do wrong ends in its result.

        Args:
            task: The task.
            attempt: Which attempt at it this is.
            folder: Where logs and result are kept; nowhere when left out.

        Raises:
            AgentChoiceError: The agent cannot be made.
        """
        try:
            result = await self._run(task, attempt, folder)
            if folder is not None:
                await asyncio.to_thread(folder.finish, result)
        finally:
            if folder is not None:
                folder.drop()
        return result

    async def _run(self, task: Task, attempt: int, folder: TrialFolder | None) -> TrialResult:
        trial = _Trial(self._sandboxes, self._agent, task, folder)
        began = time.time()
        try:
            can = await self._capabilities()
            result = await trial.run(*chosen_network(task, self._network, can))
        except (TaskError, SandboxError, AgentUnavailableError) as error:
            result = failed(task.name, self._agent.name, error)
        ended = time.time()
        return replace(
            result,
            task=task.name,
            attempt=attempt,
            seconds=ended - began,
            notes=trial.notes,
            starting=trial.starting,
            whole=Span(began, ended),
        )

    async def _capabilities(self) -> Capabilities:
        async with self._asking:
            if self._can is None:
                self._can = await self._sandboxes.backend.capabilities()
        return self._can


def failed(task: str, agent: str, error: Exception, *, attempt: int = 1) -> TrialResult:
    """The result of a trial that an error ended: whose fault it is follows from the error's class."""
    code = next(code for kind, code in _CODES if isinstance(error, kind))
    return TrialResult(agent, (), None, code, str(error), task=task, attempt=attempt)


class _Trial:
    """One trial while it runs."""

    def __init__(self, sandboxes: Sandboxes, agent: AgentChoice, task: Task, folder: TrialFolder | None) -> None:
        self._sandboxes = sandboxes
        self._choice = agent
        self._task = task
        self._folder = folder
        self.notes: tuple[TrialFinding, ...] = ()
        self.starting: Span | None = None

    async def run(self, network: Network, notes: tuple[TrialFinding, ...]) -> TrialResult:
        self.notes = notes
        began = time.time()
        image = await self._sandboxes.build(self._task)
        limits = task_limits(self._task, self._sandboxes.limits)
        async with self._sandboxes.running(image, limits=limits, network=network) as sandbox:
            self.starting = Span(began, time.time())
            with self._logs() as logs:
                act = self._actor(sandbox, Path(logs))
                keep = None if self._folder is None else lambda step: self._keep(sandbox, step)
                return await run_steps(self._choice.name, self._task, sandbox, act, keep=keep)

    def _logs(self) -> tempfile.TemporaryDirectory[str] | nullcontext[str]:
        if self._folder is not None:
            return nullcontext(str(self._folder.agent_logs))
        return nullcontext("") if self._choice.make is None else tempfile.TemporaryDirectory(prefix="envolve-agent-")

    def _actor(self, sandbox: Sandbox, logs: Path) -> Callable[[TaskStep], Awaitable[SolutionRun | AgentRun | None]]:
        if self._choice.make is not None:
            agent = self._choice.make()
            if self._folder is not None:
                self._folder.made(agent)
            return lambda step: act_on_step(agent, self._task, sandbox, step, logs)
        if self._choice.name == ORACLE:
            return lambda step: run_solution(self._task, sandbox, step)
        return _nothing

    async def _keep(self, sandbox: Sandbox, step: StepResult) -> None:
        assert self._folder is not None  # noqa: S101 - asked by the caller
        self.notes = (*self.notes, *await self._folder.keep(sandbox, step))


async def _nothing(_: TaskStep) -> None:
    return None
