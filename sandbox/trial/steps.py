"""Trials of a task: the reference solution, or nothing at all, step by step, and after each step the verifier."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sandbox.task.phase import agent_env, agent_timeout, agent_user, solution_env
from sandbox.task.reference import SCRIPT, edited_files, is_left_out, solution_folder
from sandbox.trial.healthcheck import run_healthcheck
from sandbox.trial.result import AgentRun, SolutionRun, Span, StepResult, TrialResult, meets, trial_result
from sandbox.verification.sending import Sent, send_folder
from sandbox.verification.verify import MAX_OUTPUT, clear_verifier_folders, verify

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping

    from sandbox.protocol import Sandbox
    from sandbox.task import Task, TaskStep

SOLUTION = "/solution"
AGENT_LOGS = "/logs/agent"
ARTIFACTS = "/logs/artifacts"


async def run_reference(
    task: Task,
    sandbox: Sandbox,
    *,
    without: Collection[str] = (),
    solution_of: Task | None = None,
    rename: Mapping[str, str] | None = None,
) -> TrialResult:
    """Runs a reference solution in a fresh sandbox of the task, then the task's verifier.

    Args:
        task: The environment.
        sandbox: A fresh one of it.
        without: Step ids whose sections of the solution are left out.
        solution_of: Take the solution of this task (a parent's) instead of the task's own.
        rename: Names to replace in the solution's files, old to new.

    Raises:
        UnsupportedTaskError: The back end or this machine cannot give the task what it wants.
        SandboxError: The sandbox failed.
    """

    async def solve(step: TaskStep) -> SolutionRun | None:
        return await run_solution(task, sandbox, step, without=without, solution_of=solution_of, rename=rename)

    return await run_steps("oracle", task, sandbox, solve)


async def run_noop(task: Task, sandbox: Sandbox) -> TrialResult:
    """Does nothing in a fresh sandbox of the task, then runs its verifier; raises as `run_reference` does."""

    async def nothing(_: TaskStep) -> None:
        return None

    return await run_steps("noop", task, sandbox, nothing)


async def run_solution(
    task: Task,
    sandbox: Sandbox,
    step: TaskStep,
    *,
    without: Collection[str] = (),
    solution_of: Task | None = None,
    rename: Mapping[str, str] | None = None,
) -> SolutionRun | None:
    """Uploads the solution of one step to `/solution` and runs it as the agent; `None` where there is none to run."""
    source = solution_of or task
    folder = solution_folder(source, step)
    if folder is None or is_left_out(source, step, folder, without):
        return None
    edited = edited_files(source, folder, without, rename)
    await send_folder(source, sandbox, folder, SOLUTION, {path: Sent(edited[path], runs=True) for path in edited})
    return await run_script(task, sandbox, step, env=solution_env(source))


async def run_script(
    task: Task, sandbox: Sandbox, step: TaskStep, *, env: Mapping[str, str], patience: float | None = None
) -> SolutionRun:
    """Runs the `solve.sh` that lies in `/solution` as the agent of a step.

    Args:
        task: The task.
        sandbox: Where.
        step: Which step.
        env: Variables beside the agent's own.
        patience: Seconds it may take where the task allows more.
    """
    limits = [limit for limit in (agent_timeout(task, step), patience) if limit is not None]
    # As Harbor runs it: through bash, so that a script without a #! line works and one with keeps its interpreter.
    ran = await sandbox.exec(
        ["bash", "-c", f"{SOLUTION}/{SCRIPT}"],
        cwd=task.config.environment.workdir,
        env={**agent_env(task), **env},
        user=agent_user(task, step),
        timeout=min(limits, default=None),
    )
    return SolutionRun(ran.exit_code, ran.timed_out, ran.text[-MAX_OUTPUT:], ran.error_text[-MAX_OUTPUT:])


async def prepare_step(task: Task, sandbox: Sandbox, step: TaskStep) -> str:
    """Does what comes before a step's agent: files into the working directory, `setup.sh`, health check.

    Returns:
        What went wrong, or "".
    """
    if step is task.steps[0]:
        for path in (AGENT_LOGS, ARTIFACTS):  # an agent of any user may write there, as in Harbor
            await sandbox.remake_directory(path, mode=0o777)
    else:
        # Harbor does so too: a later step's agent must not find the tests and the reward of the one before.
        await clear_verifier_folders(sandbox)
    config = task.config.environment
    workdir = config.workdir or sandbox.image.workdir
    env, user = agent_env(task), agent_user(task, step)
    folder = f"{step.folder}/workdir"
    if step.folder and task.under(folder):
        for file in task.under(folder):
            path = f"{workdir.rstrip('/')}{file.path.removeprefix(folder)}"
            await sandbox.write_file(path, task.read_bytes(file.path), mode=0o755 if file.executable else 0o644)
        if task.has(f"{folder}/setup.sh"):
            ran = await sandbox.exec(
                ["bash", f"{workdir.rstrip('/')}/setup.sh"], cwd=config.workdir, env=env, user=user
            )
            if not ran.ok:
                return f"setup.sh of step {step.name} ended with status {ran.exit_code}: {ran.error_text[-MAX_OUTPUT:]}"
    for check in (config.healthcheck, step.config.healthcheck if step.config else None):
        if check is not None and (check is not config.healthcheck or step is task.steps[0]):
            ran = await run_healthcheck(sandbox, check, cwd=config.workdir, env=env, user=user)
            if not ran.ok:
                return f"the health check `{check.command}` failed with status {ran.exit_code}"
    return ""


async def run_steps(
    agent: str,
    task: Task,
    sandbox: Sandbox,
    act: Callable[[TaskStep], Awaitable[SolutionRun | AgentRun | None]],
    *,
    keep: Callable[[StepResult], Awaitable[None]] | None = None,
) -> TrialResult:
    """Every step in order: prepare, act, verify; ends at a step without a reward or below its `min_reward`.

    Args:
        agent: Who acts, for the record.
        task: The task.
        sandbox: A fresh one of it.
        act: What the agent does in a step; returns how a solution ran or an agent acted, or `None`.
        keep: Told of each step that was verified, while its logs are still in the sandbox.
    """
    began = time.monotonic()
    results: list[StepResult] = []
    for step in task.steps:
        problem = await prepare_step(task, sandbox, step)
        if problem:
            results.append(StepResult(step.name, error=problem))
            break
        result = await _act_and_verify(task, sandbox, step, act)
        results.append(result)
        if keep is not None:
            await keep(result)
        reward = result.verification.reward if result.verification else None
        if reward is None or not meets(reward, step.config.min_reward if step.config else None):
            break
    return trial_result(agent, results, task.config.multi_step_reward_strategy, time.monotonic() - began)


async def _act_and_verify(
    task: Task, sandbox: Sandbox, step: TaskStep, act: Callable[[TaskStep], Awaitable[SolutionRun | AgentRun | None]]
) -> StepResult:
    began = time.time()
    acted = await act(step)
    between = time.time()
    verification = await verify(task, sandbox, step=step)
    return StepResult(
        step.name,
        acted if isinstance(acted, SolutionRun) else None,
        verification,
        run=acted if isinstance(acted, AgentRun) else None,
        acting=Span(began, between),
        verifying=Span(between, time.time()),
    )
