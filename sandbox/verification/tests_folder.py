"""The tests of a step as they go to `/tests`: which files, their digest, and their text."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sandbox.task.reference import solution_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sandbox.task import Task, TaskFile, TaskStep

SCRIPT: Final = "test.sh"
MAX_TEXT: Final = 4 << 20
"""Bytes of text that are looked through for names of tools and files, in all."""


@dataclass(frozen=True, slots=True)
class Tests:
    """The tests of one step.

    Attributes:
        folder: The folder of the task that is uploaded first: the task's `tests`, else the step's own.
        over: The step's own files that are laid over it: path below `/tests` → path in the task.
        script: Path in the task of the `test.sh` that is run.
        sha256: SHA-256 (hex) over paths, run bits and bytes of all that goes to `/tests`.
        text: The text of all of it, for a look at what the tests use.
    """

    folder: str
    over: tuple[tuple[str, TaskFile], ...]
    script: str
    sha256: str
    text: str


def tests_of(task: Task, step: TaskStep) -> Tests | None:
    """The tests that verify a step: the task's, the step's own laid over them; `None` where there is no `test.sh`.

    No byte of them is mended. (A `test.sh` with CRLF line ends, which Harbor fails to run, is no task for `Task.read`.)
    """
    own = tests_folder(step)
    script = test_script(task, step)
    if script is None:
        return None
    folder = "tests" if task.under("tests") else own
    files = {file.path.removeprefix(f"{folder}/"): file for file in task.under(folder)}
    over = tuple((file.path.removeprefix(f"{own}/"), file) for file in task.under(own)) if own != folder else ()
    files.update(over)
    digest = hashlib.sha256()
    for path, file in sorted(files.items()):
        kind = "link" if file.link else "run" if file.executable or path == SCRIPT else "file"
        digest.update(f"{kind} {file.sha256} {path}\n".encode())
    text = text_of(task, (file for _, file in sorted(files.items())))
    return Tests(folder, over, script, digest.hexdigest(), text)


def test_script(task: Task, step: TaskStep) -> str | None:
    """The path in the task of the `test.sh` that verifies a step: its own, else the task's; `None` if there is none."""
    folders = dict.fromkeys((tests_folder(step), "tests"))
    return next((f"{folder}/{SCRIPT}" for folder in folders if task.has(f"{folder}/{SCRIPT}")), None)


def tests_folder(step: TaskStep) -> str:
    """The folder of a step's own tests."""
    return f"{step.folder}/tests" if step.folder else "tests"


def work_text(task: Task, step: TaskStep) -> str:
    """What the task says of its work: the instructions, and the reference solution of the step."""
    folder = solution_folder(task, step)
    solution = text_of(task, task.under(folder)) if folder else ""
    # The first line of a script names the shell that runs it, not something that is worked on.
    lines = (line for line in solution.split("\n") if not line.startswith("#!"))
    return f"{task.instruction}\n" + "\n".join(lines)


def text_of(task: Task, files: Iterable[TaskFile]) -> str:
    """The text of files, as far as they are text and there is room for it."""
    parts: list[str] = []
    left = MAX_TEXT
    for file in files:
        if file.link or file.size > left:
            continue
        content = task.read_bytes(file.path)
        if b"\0" not in content:
            left -= file.size
            parts.append(content.decode("utf-8", "replace"))
    return "\n".join(parts)
