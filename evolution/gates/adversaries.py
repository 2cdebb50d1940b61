"""The parent's solution as an adversary of the child: as it is, its outputs copied, its names replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evolution.gates.trials import fresh_reference, together
from sandbox.task.phase import agent_env, agent_user
from sandbox.trial.result import StepResult, trial_result
from sandbox.trial.steps import run_reference, run_solution, run_steps
from sandbox.verification.verify import verify

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evolution.gates.renaming import Pairs
    from sandbox.protocol import Sandbox
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task, TaskStep
    from sandbox.trial.result import SolutionRun, TrialResult

# Its arguments are pairs: from, to.
_COPY: Final = 'while [ $# -gt 1 ]; do mkdir -p -- "$(dirname -- "$2")" && cp -R -- "$1" "$2"; shift 2; done'
_EXISTING: Final = 'for path; do if [ -e "$path" ]; then printf "%s\\0" "$path"; fi; done'


async def as_it_is_and_copied(
    task: Task, parent: Task, ways: Sequence[Pairs], sandboxes: Sandboxes
) -> tuple[TrialResult, list[float | None]]:
    """What the parent's solution earns, and after each way of copying its outputs (`None`: nothing there to copy).

    A single-step task is verified again and again in one sandbox: a verifier that sees more than it saw before only
    finds more copies. A multi-step task takes a fresh one each time, since its verifiers run between the steps.
    """
    if task.is_multi_step:
        plain = await fresh_reference(task, sandboxes, solution_of=parent)
        if plain.score is None or plain.score >= 1:
            return plain, []
        return plain, await together([_copied_in_each_step(task, parent, pairs, sandboxes) for pairs in ways])
    scores: list[float | None] = []
    async with sandboxes.running(task) as sandbox:
        plain = await run_reference(task, sandbox, solution_of=parent)
        if plain.score is None or plain.score >= 1:
            return plain, []
        there = await _existing(sandbox, [old for pairs in ways for old, _ in pairs])
        for pairs in ways:
            if there.isdisjoint(old for old, _ in pairs):
                scores.append(None)
                continue
            await _copy(task, sandbox, task.steps[0], pairs)
            scores.append(trial_result("oracle", [StepResult("main", None, await verify(task, sandbox))], None).score)
    return plain, scores


async def renamed(
    task: Task, parent: Task, ways: Sequence[Mapping[str, str]], sandboxes: Sandboxes
) -> list[float | None]:
    """What the parent's solution earns with names replaced in it, each way in a fresh sandbox."""
    runs = [fresh_reference(task, sandboxes, solution_of=parent, rename=names) for names in ways]
    return [result.score for result in await together(runs)]


async def _copied_in_each_step(task: Task, parent: Task, pairs: Pairs, sandboxes: Sandboxes) -> float | None:
    async with sandboxes.running(task) as sandbox:

        async def act(step: TaskStep) -> SolutionRun | None:
            ran = await run_solution(task, sandbox, step, solution_of=parent)
            await _copy(task, sandbox, step, pairs)
            return ran

        return (await run_steps("oracle", task, sandbox, act)).score


async def _copy(task: Task, sandbox: Sandbox, step: TaskStep, pairs: Pairs) -> None:
    names = [name for pair in pairs for name in pair]
    await sandbox.exec(["bash", "-c", _COPY, "copy", *names], env=agent_env(task), user=agent_user(task, step))


async def _existing(sandbox: Sandbox, paths: Sequence[str]) -> frozenset[str]:
    looked = await sandbox.exec(["bash", "-c", _EXISTING, "existing", *dict.fromkeys(paths)], user=0)
    return frozenset(name.decode() for name in looked.stdout.split(b"\0") if name)
