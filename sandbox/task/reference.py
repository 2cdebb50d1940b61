"""The reference solution of a task: where it lies, which steps it has sections for, and edited copies of its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox.task.solution import renamed, section_ids, without_sections

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sandbox.task.task import Task, TaskStep

SCRIPT = "solve.sh"


def solution_folder(task: Task, step: TaskStep) -> str | None:
    """The folder of the solution of a step: its own, else the task's; `None` when neither has a `solve.sh`.

    The step may be another task's: what counts is the folder's name.
    """
    for folder in dict.fromkeys((f"{step.folder}/solution" if step.folder else "solution", "solution")):
        if task.has(f"{folder}/{SCRIPT}"):
            return folder
    return None


def solved_steps(task: Task) -> tuple[str, ...]:
    """The step ids the solution has sections for, in order.

    Of a multi-step task, a step whose solution has no markers is itself one section with the step's name.
    """
    found: list[str] = []
    for step in task.steps:
        folder = solution_folder(task, step)
        if folder is not None:
            ids = section_ids(script_text(task, folder))
            found += ids or ((step.name,) if step.folder else ())
    return tuple(dict.fromkeys(found))


def script_text(task: Task, folder: str) -> str:
    """The text of a `solve.sh`; bytes that are not UTF-8 are kept as surrogates."""
    return task.read_bytes(f"{folder}/{SCRIPT}").decode("utf-8", "surrogateescape")


def is_left_out(task: Task, step: TaskStep, folder: str, without: Collection[str]) -> bool:
    """Whether a step's whole solution is one section that is left out."""
    own = step.folder and folder == f"{step.folder}/solution"
    return bool(own) and step.name in without and not section_ids(script_text(task, folder))


def edited_files(
    task: Task, folder: str, without: Collection[str] = (), rename: Mapping[str, str] | None = None
) -> dict[str, bytes]:
    """The files of a solution that leaving out sections or renaming changes, by path inside the folder.

    `solve.sh` is also there when it lacks its run bit: whoever uploads it has to set that.
    """
    changed: dict[str, bytes] = {}
    for file in task.under(folder):
        if file.link:
            continue
        path = file.path.removeprefix(f"{folder}/")
        content = task.read_bytes(file.path)
        text = content.decode("utf-8", "surrogateescape")
        if path == SCRIPT:
            text = without_sections(text, without)
        edited = renamed(text, rename or {}).encode("utf-8", "surrogateescape")
        if edited != content or (path == SCRIPT and not file.executable):
            changed[path] = edited
    return changed
