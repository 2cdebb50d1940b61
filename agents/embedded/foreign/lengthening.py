"""Steps put before and behind a task with a single instruction, solution and verifier."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final, Literal

from agents.embedded import library
from agents.embedded.foreign import wording
from agents.embedded.foreign.drafting import Draft
from agents.embedded.foreign.placing import FOLDER, rendered
from agents.embedded.foreign.reading import ENVIRONMENT, Foreign
from agents.embedded.foreign.sealing import sealed
from agents.embedded.foreign.ties import Tie, countersigned
from agents.embedded.foreign.trying import Findings
from agents.embedded.library import RenderedStep
from agents.embedded.task_settings import at
from evolution.sequence import Step

INSTRUCTION: Final = "instruction.md"
SOLUTION: Final = "solution/solve.sh"
CHECKS: Final = f"tests/{FOLDER}"
_DIVIDES: Final = re.compile(r"[\w)\]]\s+/\s+[A-Za-z_(]|\bbc\b|\bscale=")


def put_in_front(
    draft: Draft, task: Foreign, steps: Sequence[Step], tie: Tie, held: bytes, *, beside: Step, own: Step
) -> None:
    """Puts steps before the task.

    Args:
        draft: Takes the edits.
        task: The task.
        steps: The new ones, in order.
        tie: What makes the task depend on them.
        held: Content of the input that is sealed.
        beside: The task's first step.
        own: The step that stands for what the library does not know.
    """
    wrap(draft, task, own)
    new = splice(draft, task, steps, beside) if tie.kind == "spliced" else None
    if tie.kind == "spliced" and new is None:
        tie = countersigned(task, Findings())
    new = new or rendered(steps, task.data_seed)
    add(draft, new)
    told, solved = [wording.told(step) for step in new], [wording.section(step) for step in new]
    point = new[-1].checkpoint
    if tie.sealed is not None:
        seal(draft, task, tie, held, new[-1])
        told.append(wording.told_unsealing(tie.path, point))
        solved.append(wording.unsealing(tie.path, point))
    draft.instruct(INSTRUCTION, front="\n\n".join(told))
    draft.solve(SOLUTION, front="\n".join(solved) + "\n")
    if tie.kind == "countersigned":
        target = wording.countersign_target(new[-1].step.id)
        draft.instruct(INSTRUCTION, end=wording.told_countersign(tie.path, point, target))
        draft.solve(SOLUTION, end=wording.countersigning(tie.path, point, target))
        draft.add_check(
            f"{CHECKS}/checks/{own.id}.py", wording.countersign_check(new[-1].step.id, tie.path, point, target)
        )


def put_behind(draft: Draft, task: Foreign, steps: Sequence[Step], tie: Tie, *, own: Step) -> None:
    """Puts steps behind the task; the arguments are those of `put_in_front`."""
    wrap(draft, task, own)
    new = rendered(steps, task.data_seed, tie.entry)
    add(draft, new)
    told, solved = [wording.told(step) for step in new], [wording.section(step) for step in new]
    if tie.kind == "countersigned":
        last, point = new[-1].step.id, new[-1].checkpoint
        target = wording.countersign_target(last)
        told.append(wording.told_countersign(tie.path, point, target))
        solved.append(wording.countersigning(tie.path, point, target))
        draft.add_check(f"{CHECKS}/checks/{last}.py", wording.countersign_check(last, tie.path, point, target))
    draft.instruct(INSTRUCTION, end="\n\n".join(told))
    draft.solve(SOLUTION, end="\n" + "\n".join(solved))


def wrap(draft: Draft, task: Foreign, own: Step) -> None:
    """Makes room for the sections and checks of inserted steps, and for their files."""
    kind = reward_kind(task)
    draft.wrap_solution(SOLUTION, own.id)
    draft.wrap_tests(own.id, kind, library.harness(kind))
    draft.open_folder(unseal=False)


def add(draft: Draft, steps: Sequence[RenderedStep]) -> None:
    """The files and checks of inserted steps."""
    for step in steps:
        draft.merge(ENVIRONMENT, step.environment)
        draft.merge(f"{CHECKS}/", step.tests)


def seal(draft: Draft, task: Foreign, tie: Tie, held: bytes, step: RenderedStep) -> None:
    """Seals an input with a step's figure, in its place."""
    if tie.sealed is None:
        return
    salt = hashlib.sha256(f"{task.data_seed}\n{step.step.id}".encode()).hexdigest()[:16]
    draft.open_folder(unseal=True)
    draft.put(tie.sealed.file.path, sealed(held, step.checkpoint.value, salt))


def splice(
    draft: Draft, task: Foreign, steps: Sequence[Step], beside: Step, folder: str = ""
) -> tuple[RenderedStep, ...] | None:
    """Links steps to the step behind them, one of the library's; `None` when its text is not what the library wrote."""
    (old,) = rendered((beside,), task.data_seed)
    *new, linked = rendered((*steps, beside), task.data_seed)
    instruction, solution = f"{folder}{INSTRUCTION}", f"{folder}{SOLUTION}"
    passages = [(instruction, old.paragraph, linked.paragraph), (solution, old.solution, linked.solution)]
    if any(draft.text(path).count(before.strip()) != 1 for path, before, _ in passages):
        return None
    for path, before, after in passages:
        draft.replace(path, before.strip(), after.strip())
    draft.merge(ENVIRONMENT, {path: file for path, file in linked.environment.items() if path not in old.environment})
    return tuple(new)


def reward_kind(task: Foreign) -> Literal["binary", "fraction"]:
    """How the task scores: what it records, else whether its tests divide; either way 1 takes everything."""
    recorded = at(task.toml, "metadata", "evolution", "reward")
    if recorded in ("binary", "fraction"):
        return "binary" if recorded == "binary" else "fraction"
    return "fraction" if _DIVIDES.search(task.tests) else "binary"
