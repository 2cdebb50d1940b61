"""Broken copies of a reference solution: which of its files are code, and which small changes they can have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from evolution.gates.mutation_edits import Edit, diff, generic_edits
from evolution.gates.mutation_python import python_edits
from evolution.gates.mutation_shell import shell_edits
from sandbox.task.reference import SCRIPT, solution_folder

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Sequence

    from sandbox.task import Task, TaskStep

T = TypeVar("T")

MAX_CODE: Final = 128 * 1024
MAX_FILES: Final = 12
_GENERIC: Final = (".awk", ".sed", ".c", ".js", ".pl", ".rb", ".go", ".rs", ".lua", ".jq", ".sql")


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
        found += [(file.path, content, edit) for edit in _edits(file.path, content)]
    chosen = fair([(item[2].kind, item) for item in found], most, rng)
    return [_broken(folder, *item) for item in chosen]


def fair(candidates: Sequence[tuple[str, T]], most: int, rng: random.Random, *, shuffled: bool = True) -> list[T]:
    """At most `most` of the candidates, in turns from each kind; drawn from it, or else its first ones."""
    kinds: dict[str, list[T]] = {}
    for kind, item in candidates:
        kinds.setdefault(kind, []).append(item)
    order = sorted(kinds)
    rng.shuffle(order)
    for kind in order:
        if shuffled:
            rng.shuffle(kinds[kind])
    found: list[T] = []
    while len(found) < most and any(kinds.values()):
        for kind in order:
            if kinds[kind] and len(found) < most:
                found.append(kinds[kind].pop(0))
    return found


def _edits(path: str, content: bytes) -> Iterable[Edit]:
    first = content.split(b"\n", 1)[0]
    if path.endswith(".py") or (first.startswith(b"#!") and b"python" in first):
        return python_edits(content)
    if path.endswith((f"/{SCRIPT}", ".sh", ".bash")) or (first.startswith(b"#!") and b"sh" in first):
        return shell_edits(content)
    return generic_edits(content) if path.endswith(_GENERIC) else ()


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
