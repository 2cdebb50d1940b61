"""The panel: runs gates stage by stage, those of a stage in parallel, and stops at the first failure.

Verdicts come out in gate order, and which failure is reported does not depend on which gate was faster: a failure
cancels only the gates after it; those before it finish, and the first failing one in order is the one reported.
"""

from __future__ import annotations

import asyncio
import importlib
import time
from itertools import groupby
from typing import TYPE_CHECKING, cast

from evolution.gates.errors import GateError
from evolution.gates.outcomes import infrastructure, invalid, repeatable
from sandbox.errors import ImageError, SandboxError, TaskError, UnsupportedTaskError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Sequence

    from evolution.verdict import Candidate, Gate, Verdict
    from sandbox.sandboxes import Sandboxes

BUILT_IN = {
    "rubric": "evolution.gates.rubric:RubricGate",
    "build": "evolution.gates.build:BuildGate",
    "leak": "evolution.gates.leak:LeakGate",
    "oracle": "evolution.gates.oracle:OracleGate",
    "noop": "evolution.gates.noop:NoopGate",
    "rerun": "evolution.gates.rerun:RerunGate",
    "harder": "evolution.gates.harder:HarderGate",
}
"""The gates that need nothing but the candidate, in the order they are asked."""


def default_gates() -> tuple[Gate, ...]:
    """All of `BUILT_IN`."""
    return gates_by_name(BUILT_IN)


def gates_by_name(names: Iterable[str]) -> tuple[Gate, ...]:
    """Makes gates: by a name of `BUILT_IN`, or `module:Class` for one of your own.

    Raises:
        GateError: No such gate, or it cannot be loaded or made without arguments.
    """
    return tuple(_load(name) for name in names)


async def judge(
    candidate: Candidate,
    sandboxes: Sandboxes,
    gates: Sequence[Gate],
    *,
    on_verdict: Callable[[Verdict], None] | None = None,
    retries: int = 1,
) -> tuple[Verdict, ...]:
    """Asks every gate, until one refuses.

    Args:
        candidate: What is judged.
        sandboxes: Where gates run it.
        gates: Asked by rising stage, in this order within a stage.
        on_verdict: Called with each verdict, in order, as soon as it is certain to be reported.
        retries: How often a gate is asked again when its sandbox fails; after that its verdict is `infrastructure`.

    Returns:
        The verdicts in gate order; when one refused, it is the last.

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
        await _judge_stage([_ask(gate, candidate, sandboxes, retries) for gate in stage], report)
        if not verdicts[-1].passed:
            break
    return tuple(verdicts)


async def _judge_stage(asked: Sequence[Coroutine[None, None, Verdict]], report: Callable[[Verdict], None]) -> None:
    """Reports in order up to the first refusal; leaves only when every gate it started has ended."""
    tasks = [asyncio.create_task(question) for question in asked]

    def stop_later_ones(done: asyncio.Task[Verdict]) -> None:
        if not done.cancelled() and (done.exception() is not None or not done.result().passed):
            for later in tasks[tasks.index(done) + 1 :]:
                later.cancel()

    for task in tasks:
        task.add_done_callback(stop_later_ones)
    try:
        for task in tasks:
            verdict = await task
            report(verdict)
            if not verdict.passed:
                return
    finally:
        for task in tasks:
            task.cancel()
        # Cancelled gates are still stopping their sandboxes; nothing of theirs may outlive the panel.
        await asyncio.gather(*tasks, return_exceptions=True)


async def _ask(gate: Gate, candidate: Candidate, sandboxes: Sandboxes, retries: int) -> Verdict:
    """One gate's verdict with its time; errors of sandboxes become verdicts."""
    began = time.monotonic()
    verdict = await _answer(gate, candidate, sandboxes, retries)
    return verdict.model_copy(update={"seconds": time.monotonic() - began})


async def _answer(gate: Gate, candidate: Candidate, sandboxes: Sandboxes, retries: int) -> Verdict:
    for retries_left in range(retries, -1, -1):
        try:
            return await gate.check(candidate, sandboxes)
        except TaskError as error:
            return invalid(gate.name, "task", repeatable(str(error)))
        except ImageError as error:
            return invalid(gate.name, "image", f"the environment does not build: {repeatable(str(error))}")
        except UnsupportedTaskError as error:
            return infrastructure("build", "unsupported", repeatable(str(error))).model_copy(update={"gate": gate.name})
        except SandboxError as error:
            if not retries_left:
                said = f"the sandbox failed {retries + 1} times, last with {type(error).__name__}: {error}"
                return infrastructure(gate.name, "sandbox", repeatable(said))
    raise ValueError(f"retries: {retries}, expected 0 or more")


def _load(name: str) -> Gate:
    """Makes one gate."""
    where = BUILT_IN.get(name, name)
    module_name, _, attribute = where.partition(":")
    if not attribute:
        raise GateError(f"no gate {name!r}: choose from {', '.join(BUILT_IN)}, or give module:Class")
    try:
        made = getattr(importlib.import_module(module_name), attribute)()
    except ImportError as error:
        raise GateError(f"gate {name!r}: the module {module_name} cannot be imported: {error}") from error
    except AttributeError as error:
        raise GateError(f"gate {name!r}: the module {module_name} has no {attribute}") from error
    except TypeError as error:
        raise GateError(f"gate {name!r}: {attribute} cannot be made without arguments: {error}") from error
    if not all(hasattr(made, member) for member in ("name", "stage", "check")):
        raise GateError(f"gate {name!r}: {attribute} has to have name, stage and check (see evolution.verdict.Gate)")
    return cast("Gate", made)
