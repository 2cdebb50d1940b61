"""Runs the reference solution once, keeps its sandbox before and after each step, and runs broken copies from there."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evolution.gates.mutation_state import State, TooLargeError, digest, named_outputs, put, read_state
from sandbox.task.phase import solution_env
from sandbox.task.reference import SCRIPT, edited_files, solution_folder
from sandbox.trial.result import StepResult, TrialResult, meets, trial_result
from sandbox.trial.steps import SOLUTION, prepare_step, run_script, run_solution
from sandbox.verification.sending import Sent, send_folder
from sandbox.verification.tests_folder import tests_of
from sandbox.verification.verify import verify

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from evolution.gates.mutation_outputs import Spoiled
    from evolution.gates.mutation_scripts import Broken
    from sandbox.protocol import Limits, Sandbox, Snapshot
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task, TaskStep

TIMES: Final = 4
"""How often the reference's own time a broken solution gets."""
VERIFIER_TIMES: Final = 8
"""The same for its verifier, which runs on a machine as busy as this gate makes it."""
SLACK: Final = 2.0
"""Seconds on top of that."""
_SEED: Final = {"PYTHONHASHSEED": "0"}


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the reference run.

    Attributes:
        step: The step.
        before: Its sandbox prepared, the solution not yet run.
        after: The same with the solution run, not yet verified.
        outputs: Paths of what the solution made or changed that counts.
        was: What lay there before.
        state: What lies there after.
        result: How the step went.
        solving: Seconds the solution took.
        verifying: Seconds the verifier took.
    """

    step: TaskStep
    before: Snapshot
    after: Snapshot
    outputs: tuple[str, ...]
    was: State
    state: State
    result: StepResult
    solving: float
    verifying: float


@dataclass(frozen=True, slots=True)
class Reference:
    """The whole run.

    Attributes:
        task: The task.
        stages: Its steps as far as they ran.
        result: What came of it.
        limits: Those of its sandbox.
    """

    task: Task
    stages: tuple[Stage, ...]
    result: TrialResult
    limits: Limits


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a broken solution or a spoiled output.

    Attributes:
        noticed: Whether the reward was below 1, or there was none.
        state: What it left at the outputs' paths.
        timed_out: Whether it hung; nothing was verified then.
    """

    noticed: bool
    state: State
    timed_out: bool = False


@asynccontextmanager
async def reference_run(task: Task, sandboxes: Sandboxes) -> AsyncIterator[Reference]:
    """Runs the reference solution; its snapshots are there for the length of a `with` block.

    Raises:
        UnsupportedTaskError: The back end has no snapshots or cannot tell changes.
        TooLargeError: The outputs are too large to be looked at.
        TransferError: A back end failed to bring them.
    """
    async with AsyncExitStack() as kept:
        stages: list[Stage] = []
        results: list[StepResult] = []
        async with sandboxes.running(task) as sandbox:
            for step in task.steps:
                problem = await prepare_step(task, sandbox, step)
                if problem:
                    results.append(StepResult(step.name, error=problem))
                    break
                stage = await _stage(task, step, sandbox, kept)
                stages.append(stage)
                results.append(stage.result)
                if not _goes_on(step, stage.result):
                    break
            limits = sandbox.limits
        for place, stage in enumerate(stages):
            stages[place] = await _with_past(stage, sandboxes, limits)
        result = trial_result("oracle", results, task.config.multi_step_reward_strategy)
        yield Reference(task, tuple(stages), result, limits)


async def _stage(task: Task, step: TaskStep, sandbox: Sandbox, kept: AsyncExitStack) -> Stage:
    before = await _kept_snapshot(sandbox, kept)
    began = time.monotonic()
    solution = await run_solution(task, sandbox, step)
    solved = time.monotonic()
    await sandbox.kill_processes()
    tests = tests_of(task, step)
    outputs = named_outputs(task, step, await sandbox.changed_files(), tests.text if tests else "")
    state = await read_state(sandbox, outputs)
    after = await _kept_snapshot(sandbox, kept)
    verifying = time.monotonic()
    verification = await verify(task, sandbox, step=step)
    return Stage(
        step=step,
        before=before,
        after=after,
        outputs=outputs,
        was={},
        state=state,
        result=StepResult(step.name, solution, verification),
        solving=solved - began,
        verifying=time.monotonic() - verifying,
    )


async def _kept_snapshot(sandbox: Sandbox, kept: AsyncExitStack) -> Snapshot:
    snapshot = await sandbox.snapshot()
    kept.push_async_callback(sandbox.backend.discard, snapshot)
    return snapshot


async def _with_past(stage: Stage, sandboxes: Sandboxes, limits: Limits) -> Stage:
    """The stage with what lay at its outputs' paths before; what the step left alone is no output of it."""
    async with sandboxes.running(stage.before, limits=limits) as sandbox:
        was = await read_state(sandbox, stage.outputs)
    outputs = tuple(path for path in stage.outputs if was.get(path) != stage.state.get(path))
    return replace(stage, outputs=outputs, was=was)


async def run_spoiled(reference: Reference, place: int, item: Spoiled, sandboxes: Sandboxes) -> Ran:
    """Verifies what the reference solution left, with one output spoiled."""
    stage, entry = reference.stages[place], item.entry
    async with sandboxes.running(stage.after, limits=reference.limits) as sandbox:
        await put(sandbox, item.path, entry)
        noticed = await _noticed(reference, place, sandbox)
    state = {path: known for path, known in stage.state.items() if path != item.path}
    return Ran(noticed, state if entry is None else {**state, item.path: entry})


async def run_broken(
    reference: Reference, place: int, item: Broken | None, sandboxes: Sandboxes, *, stable: tuple[str, ...] = ()
) -> Ran:
    """Runs a broken solution (`None` is the reference itself, which is not verified) and verifies what it left.

    Args:
        reference: The reference run.
        place: Which step.
        item: The broken solution.
        sandboxes: Where.
        stable: The outputs to compare with the reference's: what leaves the same there is not verified.

    Raises:
        TooLargeError: This time the reference itself leaves too much to be looked at.
    """
    task, stage = reference.task, reference.stages[place]
    async with sandboxes.running(stage.before, limits=reference.limits) as sandbox:
        timed_out = await _solve(task, stage, item, sandbox)
        if timed_out:
            return Ran(noticed=True, state={}, timed_out=True)
        try:
            state = await read_state(sandbox, stage.outputs)
        except TooLargeError:
            if item is None:
                raise
            return Ran(await _noticed(reference, place, sandbox), {})  # it left far more than the reference
        if item is None or digest(state, stable) == digest(stage.state, stable):
            return Ran(noticed=False, state=state)
        return Ran(await _noticed(reference, place, sandbox), state)


async def _solve(task: Task, stage: Stage, item: Broken | None, sandbox: Sandbox) -> bool:
    """Runs the solution of a step as `run_solution` does, one file of it broken; says whether its time was up."""
    folder = solution_folder(task, stage.step)
    if folder is None:
        return False
    changed = {path: Sent(content, runs=True) for path, content in edited_files(task, folder).items()}
    if item is not None:
        executable = item.inside == SCRIPT or any(f.path == item.file and f.executable for f in task.under(folder))
        changed[item.inside] = Sent(item.content, runs=executable)
    await send_folder(task, sandbox, folder, SOLUTION, changed)
    patience = TIMES * stage.solving + SLACK
    ran = await run_script(task, sandbox, stage.step, env={**solution_env(task), **_SEED}, patience=patience)
    await sandbox.kill_processes()
    return ran.timed_out


async def _noticed(reference: Reference, place: int, sandbox: Sandbox) -> bool:
    """Whether a verifier gives less for what lies there than for the reference: of this step or of a later one.

    A step's own reward counts, also where the whole trial's (strategy "final") does not depend on it.
    """
    task = reference.task
    for number, stage in enumerate(reference.stages[place:]):
        if number:
            problem = await prepare_step(task, sandbox, stage.step)
            if problem or await _solve(task, stage, None, sandbox):
                return True
        try:
            async with asyncio.timeout(VERIFIER_TIMES * stage.verifying + SLACK):
                verification = await verify(task, sandbox, step=stage.step)
        except TimeoutError:
            return True
        score = trial_result("broken", [StepResult(stage.step.name, None, verification)], None).score
        expected = trial_result("oracle", [stage.result], None).score
        if score is None or (expected is not None and score < expected):
            return True
    return False


def _goes_on(step: TaskStep, result: StepResult) -> bool:
    reward = result.verification.reward if result.verification else None
    return reward is not None and meets(reward, step.config.min_reward if step.config else None)
