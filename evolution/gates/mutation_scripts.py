"""Broken copies of a reference solution: which of its files are code, and which small changes they can have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evolution.gates.mutation_diff import diff
from evolution.gates.mutation_languages import code_edits, drawn_edits
from sandbox.task.reference import solution_folder

if TYPE_CHECKING:
    import random

    from evolution.gates.mutation_edits import Edit
    from sandbox.task import Task, TaskStep

MAX_CODE: Final = 128 * 1024
MAX_FILES: Final = 12


@dataclass(frozen=True, slots=True)
class Broken:
    """A reference solution with one small fault.

    Attributes:
        file: Path of the changed file in the task.
        inside: Its path in the solution's folder.
        content: Its new bytes.
        line: Where the change is.
        kind: What sort of change it is.
        says: The change for a person.
        diff: The change as a diff.
    """

    file: str
    inside: str
    content: bytes
    line: int
    kind: str
    says: str
    diff: str


def broken_solutions(task: Task, step: TaskStep, most: int, rng: random.Random) -> list[Broken]:
    """Broken copies of a step's solution, all different, of a fair mix of kinds and places.

    Args:
        task: The task.
        step: Its step.
        most: How many at most.
        rng: Decides which.
    """
    folder = solution_folder(task, step)
    if folder is None:
        return []
    found: list[tuple[str, bytes, Edit]] = []
    for file in task.under(folder)[:MAX_FILES]:
        if file.link or file.size > MAX_CODE:
            continue
        content = task.read_bytes(file.path)
        found += [(file.path, content, edit) for edit in code_edits(file.path, content)]
    return [_broken(folder, *item) for item in drawn_edits(found, most, rng)]


def _broken(folder: str, path: str, content: bytes, edit: Edit) -> Broken:
    changed = edit.applied(content)
    return Broken(
        file=path,
        inside=path.removeprefix(f"{folder}/"),
        content=changed,
        line=content.count(b"\n", 0, edit.start) + 1,
        kind=edit.kind,
        says=edit.says,
        diff=diff(content, changed, path, lines=8),
    )
