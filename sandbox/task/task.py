"""A task: a Harbor task directory as a value. Read it, ask it, write it; the folder itself stays as it is."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import tomlkit
from tomlkit.exceptions import TOMLKitError

from sandbox.errors import TaskError
from sandbox.task.files import Finding, TaskFile, list_files, read_capped, resolve_link
from sandbox.task.layout import TaskStep, check_layout
from sandbox.task.toml import CONFIG_FILE, not_utf8, parse_config
from sandbox.task.writing import appearing, checked_chunks, copy_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox.task.config import TaskConfig

__all__ = ["Finding", "Task", "TaskFile", "TaskStep"]

MAX_CONFIG_BYTES: Final = 1 << 20
_TERMINAL_BENCH_1: Final = ("task.yaml", "run-tests.sh")


@dataclass(frozen=True)
class Task:
    """A Harbor task directory, read and checked.

    What it says is what the folder held when it was read: reading or copying a file that has changed since raises.

    Attributes:
        root: The folder.
        config: What `task.toml` says.
        files: Every file and symbolic link, sorted by path. A link stays a link; what it leads to is listed where it
            lies, so a path that goes through a linked folder is not in the list.
        findings: What is odd and did not keep it from being read.
        steps: Its steps in order; a single-step task has exactly one, named "main".
        empty_folders: Folders that hold nothing: written again, but no part of the content hash.
    """

    root: Path
    config: TaskConfig
    files: tuple[TaskFile, ...]
    findings: tuple[Finding, ...]
    steps: tuple[TaskStep, ...]
    empty_folders: tuple[str, ...] = ()

    @classmethod
    def read(cls, root: Path) -> Self:
        """Reads and checks a task folder; contents are hashed in passing, not kept.

        Raises:
            TaskError: It is no task that can be used; names the file, the field where there is one, and the remedy.
        """
        root = Path(root).absolute()
        _check_is_task_folder(root)
        listing = list_files(root)
        if not any(file.path == CONFIG_FILE and not file.link for file in listing.files):
            raise TaskError("has to be a plain file", file=CONFIG_FILE)
        config, findings = parse_config(read_capped(root, CONFIG_FILE, MAX_CONFIG_BYTES))
        layout = check_layout(root, config, listing)
        findings = (*findings, *listing.findings, *layout.findings)
        return cls(root, config, listing.files, findings, layout.steps, listing.empty_folders)

    @property
    def name(self) -> str:
        """`[task] name`, or the folder's name where there is none."""
        return self.config.task.name if self.config.task else self.root.name

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 (hex) over paths, run bits and bytes (of links: their targets); nothing else of a folder counts."""
        digest = hashlib.sha256()
        for file in self.files:
            kind = "link" if file.link else "run" if file.executable else "file"
            digest.update(f"{kind} {file.sha256} {file.path}\n".encode())
        return digest.hexdigest()

    @property
    def is_multi_step(self) -> bool:
        """Whether it has `[[steps]]`."""
        return bool(self.config.steps)

    @property
    def instruction(self) -> str:
        """What the solver is told; of a multi-step task all steps' instructions, each under a heading."""
        if not self.is_multi_step:
            return self.steps[0].instruction
        parts = [
            f"# Step {number} of {len(self.steps)}: {step.name}\n\n{step.instruction.strip()}\n"
            for number, step in enumerate(self.steps, start=1)
        ]
        return "\n".join(parts)

    @property
    def evolution(self) -> Mapping[str, object]:
        """The table `[metadata.evolution]` as it stands, empty where there is none.

        Raises:
            TaskError: It is no table.
        """
        table = self.config.metadata.get("evolution", {})
        if not isinstance(table, Mapping):
            raise TaskError(f"came {table!r}, expected a table", file=CONFIG_FILE, field="metadata.evolution")
        return table

    def under(self, prefix: str) -> tuple[TaskFile, ...]:
        """The files below a folder ("environment", "steps/one/tests"), or the one file of that path."""
        folder = prefix.rstrip("/")
        return tuple(f for f in self.files if not folder or f.path == folder or f.path.startswith(f"{folder}/"))

    def has(self, path: str) -> bool:
        """Whether there is a file or a link of that path."""
        return path in self._by_path

    def read_bytes(self, path: str) -> bytes:
        """Reads one file; a link is followed, since it cannot leave the task.

        Raises:
            TaskError: No such file, a folder, or it has changed since the task was read.
        """
        file = self._by_path.get(path)
        if file is not None and file.link:
            links = {link.path: link.link for link in self.files if link.link}
            target = resolve_link(path, links)
            if target not in self._by_path:
                raise TaskError("is a link to a folder" if self.under(target) else "is a link to nothing", file=path)
            file = self._by_path[target]
        if file is None:
            raise TaskError("is a folder" if self.under(path) else "no such file in this task", file=path)
        return b"".join(checked_chunks(self.root, file))

    def read_text(self, path: str) -> str:
        """Reads one UTF-8 file, line ends as they are.

        Raises:
            TaskError: As `read_bytes`, or it is not UTF-8.
        """
        try:
            return self.read_bytes(path).decode("utf-8")
        except UnicodeDecodeError as error:
            raise TaskError(not_utf8(error), file=path) from None

    def write(self, target: Path) -> Self:
        """Copies the task to a new folder, which appears whole or not at all: bytes, run bits and links.

        Raises:
            TaskError: Something is at `target`, or a file has changed since the task was read.
            OSError: The disk refuses (full, read-only).
        """
        target = Path(target).absolute()
        with appearing(target) as aside:
            copy_files(self.root, self.files, self.empty_folders, aside, replaced={})
        return replace(self, root=target)

    def with_toml(self, edit: Callable[[tomlkit.TOMLDocument], None], target: Path) -> Self:
        """Copies the task as `write` does, with `task.toml` edited; what `edit` leaves alone keeps its bytes.

        Raises:
            TaskError: As `write`; or `task.toml` cannot be edited without touching more than `edit` does; or the
                result is no task.
            OSError: The disk refuses.
        """
        target = Path(target).absolute()
        edited = edited_toml(self.read_text(CONFIG_FILE), edit)
        with appearing(target) as aside:
            copy_files(self.root, self.files, self.empty_folders, aside, replaced={CONFIG_FILE: edited.encode()})
            written = type(self).read(aside)
        return replace(written, root=target)

    @cached_property
    def _by_path(self) -> dict[str, TaskFile]:
        return {file.path: file for file in self.files}


def edited_toml(text: str, edit: Callable[[tomlkit.TOMLDocument], None]) -> str:
    """Edits TOML; comments, order and spacing of the rest stay.

    Raises:
        TaskError: tomlkit cannot read it, or would change bytes that nobody asked it to change.
    """
    try:
        document = tomlkit.parse(text)
        unchanged = tomlkit.dumps(document) == text
    except (TOMLKitError, ValueError, RecursionError) as error:
        raise TaskError(f"cannot be edited: {error}", file=CONFIG_FILE) from error
    if not unchanged:
        message = "cannot be edited without changing other bytes of it; write it in plain tables, each only once"
        raise TaskError(message, file=CONFIG_FILE)
    edit(document)
    return tomlkit.dumps(document)


def _check_is_task_folder(root: Path) -> None:
    """Tells apart the ways in which a path is no task folder at all."""
    if not os.path.lexists(root):
        raise TaskError("does not exist", file=root)
    if not root.is_dir():
        hint = f"; give the folder it lies in, {root.parent}" if root.name == CONFIG_FILE else ""
        raise TaskError(f"is not a folder: a task is a folder with a {CONFIG_FILE}{hint}", file=root)
    try:
        names = sorted(path.name for path in root.iterdir())
    except OSError as error:
        raise TaskError(f"folder cannot be read: {error.strerror}", file=root) from None
    if CONFIG_FILE in names:
        return
    if not names:
        raise TaskError(
            f"is an empty folder: a task needs {CONFIG_FILE}, instruction.md, environment/, tests/", file=root
        )
    if any(name in names for name in _TERMINAL_BENCH_1):
        raise TaskError(
            "is a Terminal-Bench 1 task; convert it with `harbor task migrate`, then look through environment/: the "
            "conversion may copy tests and solution into the image, where a solver finds them",
            file=root,
        )
    inside = [name for name in names if (root / name / CONFIG_FILE).is_file()]
    hint = f": did you mean one of the tasks in it, e.g. {inside[0]}?" if inside else ": every task has one"
    raise TaskError(f"missing in {root}{hint}", file=CONFIG_FILE)
