"""The panel: runs gates stage by stage, those of a stage in parallel, and stops at the first failure.

Verdicts come out in gate order, and which failure is reported does not depend on which gate was faster: a failure
cancels only the gates after it; those before it finish, and the first failing one in order is the one reported.
"""

from __future__ import annotations

import asyncio
import time
from itertools import groupby
from typing import TYPE_CHECKING

from evolution.gates.errors import GateError
from evolution.gates.guarding import CRASHED, guarded
from evolution.gates.outcomes import infrastructure, invalid, repeatable
from sandbox.errors import ImageError, SandboxError, TaskError, UnsupportedTaskError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from evolution.verdict import Candidate, Gate, Verdict
    from sandbox.sandboxes import Sandboxes

BUILDING = frozenset({"build"})
BASE = frozenset({"build", "oracle", "noop"})
"""What has to hold before it makes sense to run more."""
_RUNS, _BUILDS_ON_BASE = 2, 3
TASK, IMAGE, UNSUPPORTED, SANDBOX = "task", "image", "unsupported", "sandbox"
CODES: Mapping[str, str] = {
    TASK: "a file that the gate needs is not as it has to be",
    IMAGE: "the environment does not build",
    UNSUPPORTED: "this back end cannot run the task: nobody's fault, choose another one with --sandbox",
    SANDBOX: "sandboxes failed, again and again: this machine's fault",
    CRASHED: "the gate, or somebody it asks, gave no answer: our fault or the plug-in's",
}
"""What may come after any gate's name in a code, beside what the gate itself says (`codes`).

`unsupported` comes after `build/`, whichever gate met it: it speaks of the environment, and is suppressed as one.
"""


async def judge(
    candidate: Candidate,
    sandboxes: Sandboxes,
    gates: Sequence[Gate],
    *,
    on_verdict: Callable[[Verdict], None] | None = None,
    retries: int = 1,
    thorough: bool = False,
    revise: Callable[[Verdict], Verdict] | None = None,
) -> tuple[Verdict, ...]:
    """Asks every gate, until one refuses.

    Args:
        candidate: What is judged.
        sandboxes: Where gates run it.
        gates: Asked by rising stage, in this order within a stage.
        on_verdict: Called with each verdict, in order, as soon as it is certain to be reported.
        retries: How often a gate is asked again when its sandbox fails; after that its verdict is `infrastructure`.
        thorough: Ask the others too when one refuses, but for those whose answer would say nothing: what runs is not
            asked when the environment does not build, and what builds on reference solution and no-op not when these
            fail.
        revise: Has the last word on each verdict (suppressions).

    Returns:
        The verdicts in gate order; unless `thorough`, one that refused is the last.

    Raises:
        GateError: Two gates have the same name.
    """
    names = [gate.name for gate in gates]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise GateError(f"gates must have different names, these come twice: {', '.join(twice)}")
    verdicts: list[Verdict] = []

    def report(verdict: Verdict) -> None:
        verdicts.append(verdict)
        if on_verdict is not None:
            on_verdict(verdict)

    by_stage = sorted(gates, key=lambda gate: gate.stage)
    for _, stage in groupby(by_stage, key=lambda gate: gate.stage):
        asked = [gate for gate in stage if not (thorough and _pointless(gate, verdicts))]
        await _judge_stage(
            [_ask(gate, candidate, sandboxes, retries, revise) for gate in asked], report, to_the_end=thorough
        )
        if not thorough and not verdicts[-1].passed:
            break
    return tuple(verdicts)


def _pointless(gate: Gate, verdicts: Sequence[Verdict]) -> bool:
    """Whether what has been found already leaves a gate nothing to say."""
    needed = BASE if gate.stage >= _BUILDS_ON_BASE else BUILDING if gate.stage >= _RUNS else frozenset()
    return any(verdict.gate in needed and not verdict.passed for verdict in verdicts)


async def _judge_stage(
    asked: Sequence[Coroutine[None, None, Verdict]], report: Callable[[Verdict], None], *, to_the_end: bool
) -> None:
    """Reports in order up to the first refusal, or all; leaves only when every gate it started has ended."""
    tasks = [asyncio.create_task(question) for question in asked]

    def stop_later_ones(done: asyncio.Task[Verdict]) -> None:
        if not done.cancelled() and (done.exception() is not None or not done.result().passed):
            for later in tasks[tasks.index(done) + 1 :]:
                later.cancel()

    if not to_the_end:
        for task in tasks:
            task.add_done_callback(stop_later_ones)
    try:
        for task in tasks:
            verdict = await task
            report(verdict)
            if not verdict.passed and not to_the_end:
                return
    finally:
        for task in tasks:
            task.cancel()
        # Cancelled gates are still stopping their sandboxes; nothing of theirs may outlive the panel.
        await asyncio.gather(*tasks, return_exceptions=True)


async def _ask(
    gate: Gate, candidate: Candidate, sandboxes: Sandboxes, retries: int, revise: Callable[[Verdict], Verdict] | None
) -> Verdict:
    """One gate's verdict with its time; errors of sandboxes become verdicts."""
    began = time.monotonic()
    verdict = await _answer(gate, candidate, sandboxes, retries)
    timed = verdict.model_copy(update={"seconds": time.monotonic() - began})
    return revise(timed) if revise is not None else timed


async def _answer(gate: Gate, candidate: Candidate, sandboxes: Sandboxes, retries: int) -> Verdict:
    for retries_left in range(retries, -1, -1):
        try:
            return await guarded(gate, candidate, sandboxes)
        except TaskError as error:
            return invalid(gate.name, TASK, repeatable(str(error)))
        except ImageError as error:
            return invalid(gate.name, IMAGE, f"the environment does not build: {repeatable(str(error))}")
        except UnsupportedTaskError as error:
            return infrastructure("build", UNSUPPORTED, repeatable(str(error))).model_copy(update={"gate": gate.name})
        except SandboxError as error:
            if not retries_left:
                said = f"the sandbox failed {retries + 1} times, last with {type(error).__name__}: {error}"
                return infrastructure(gate.name, SANDBOX, repeatable(said))
    raise ValueError(f"retries: {retries}, expected 0 or more")
