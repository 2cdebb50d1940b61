"""The evolver's way with a task that the library does not know: steps in front of it and behind it."""

from __future__ import annotations

from collections.abc import Sequence

from agents.embedded import library
from agents.embedded.checking import check_syntax, check_tools
from agents.embedded.conversation import Call, CannotError, Script
from agents.embedded.foreign.drafting import Draft
from agents.embedded.foreign.lengthening import put_behind, put_in_front
from agents.embedded.foreign.placing import OUT
from agents.embedded.foreign.reading import read_foreign
from agents.embedded.foreign.step_folders import add_behind, add_in_front
from agents.embedded.foreign.ties import Tie, tie_behind, tie_in_front
from agents.embedded.foreign.trying import Findings, try_out
from agents.embedded.task_settings import parsed, with_artifacts, with_steps, with_tools
from agents.embedded.tools import contents
from evolution.plan import Axis, Plan
from evolution.sequence import Step


def harden(plan: Plan, toml: str, *, attempt: int) -> Script:
    """Inserts the plan's steps, each tied in, and submits.

    Raises:
        CannotError: The plan or the task does not allow it; nothing was written then.
    """
    front, end = inserted(plan)
    task = yield from read_foreign(parsed(toml))
    tools = yield from check_tools((*front, *end))
    if all(any(path.endswith(f"/handover/checks/{step.id}.py") for path in task.files) for step in (*front, *end)):
        summary = f"Nothing was changed in attempt {attempt}: the folder already is what the plan asks for."
        yield (Call("submit", {"summary": summary}),)
        return summary
    places = task.places()
    if end and "end" not in places:
        raise CannotError("no step can be put behind this task")
    first, last = plan.before.steps[0], plan.before.steps[-1]
    foreign_beside = (front and not library.knows(first)) or (end and not library.knows(last))
    findings = (yield from try_out(task, task.inputs() if front else ())) if foreign_beside else Findings()
    before = tie_in_front(task, first, findings) if front else None
    behind = tie_behind(task, last, findings, task.data_seed) if end else None
    held = b""
    if before is not None and before.sealed is not None:
        held = (yield from contents([before.sealed.file]))[before.sealed.file.path]
    draft = Draft(task)
    own = next((step for step in plan.before.steps if not library.knows(step)), first)
    if before is not None:
        (add_in_front if task.steps else put_in_front)(draft, task, front, before, held, beside=first, own=own)
    if behind is not None:
        (add_behind if task.steps else put_behind)(draft, task, end, behind, own=own)
    settings = with_artifacts(with_tools(toml, tools), OUT)
    if task.steps:
        settings = with_steps(settings, [step.id for step in front], [step.id for step in end])
    draft.put("task.toml", settings)
    yield from draft.written()
    scripts = [path for path in draft.paths if not path.startswith("environment/")]
    yield from check_syntax([p for p in scripts if p.endswith(".sh")], [p for p in scripts if p.endswith(".py")])
    summary = summarised(front, before, end, behind, tried=findings.tried)
    yield (Call("submit", {"summary": summary}),)
    return summary


def inserted(plan: Plan) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """The new steps in front of the parent's and behind them.

    Raises:
        CannotError: The plan asks for another edit.
    """
    before, after = plan.before.steps, plan.after.steps
    if plan.axis is not Axis.LENGTH:
        raise CannotError(f"this task holds pairs that the library does not know: its {plan.axis}s cannot be replaced")
    start = after.index(before[0])
    if after[start : start + len(before)] != before:
        raise CannotError("steps can be put in front of this task or behind it, not into it")
    return after[:start], after[start + len(before) :]


def summarised(
    front: Sequence[Step], before: Tie | None, end: Sequence[Step], behind: Tie | None, *, tried: bool
) -> str:
    """What the evolver says of its work."""
    parts = []
    for steps, tie, where in ((front, before, "in front"), (end, behind, "behind")):
        if tie is not None:
            on = f" ({tie.path}, {'tried out here' if tried else 'read off the files'})" if tie.path else ""
            parts.append(f"{', '.join(f'{step.id} ({step})' for step in steps)} {where}, {tie.kind}{on}")
    return f"Inserted {'; '.join(parts)}. The original tests and solution run as they were."
