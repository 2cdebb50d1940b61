"""A task's files in memory, to be edited and written down as another task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import tomlkit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from sandbox.task import Task


@dataclass(frozen=True, slots=True)
class DraftFile:
    """One file.

    Attributes:
        content: Its bytes.
        executable: Whether it has its run bit.
        link: Where it leads, when it is a symbolic link.
    """

    content: bytes
    executable: bool = False
    link: str = ""


class Draft:
    """The files of a task by their paths in it ("tests/test.sh"); `step` is the one a fault goes into.

    Args:
        files: The files.
        step: Folder of a step ("steps/one"); "" in a single-step task.
    """

    def __init__(self, files: Mapping[str, DraftFile], step: str = "") -> None:
        self.files = dict(files)
        self.step = step

    @classmethod
    def of(cls, task: Task) -> Self:
        """The files of a task; its last step is the one that faults go into."""
        files = {
            file.path: DraftFile(b"", link=file.link)
            if file.link
            else DraftFile(task.read_bytes(file.path), file.executable)
            for file in task.files
        }
        return cls(files, task.steps[-1].folder or "")

    @property
    def instruction(self) -> str:
        """Path of the instruction of the step."""
        return self._in_step("instruction.md")

    @property
    def tests(self) -> str:
        """Folder of the step's tests, as "tests"."""
        return self._in_step("tests") if self.below(self._in_step("tests")) else "tests"

    @property
    def solution(self) -> str:
        """Folder of the step's reference solution, as "solution"."""
        return self._in_step("solution") if self.below(self._in_step("solution")) else "solution"

    @property
    def test_script(self) -> str:
        """Path of the verifier's script."""
        return f"{self.tests}/test.sh"

    @property
    def solution_script(self) -> str:
        """Path of the reference solution's script."""
        return f"{self.solution}/solve.sh"

    def below(self, folder: str) -> tuple[str, ...]:
        """Paths of the files below a folder, sorted."""
        return tuple(sorted(path for path in self.files if path.startswith(f"{folder}/")))

    def text(self, path: str) -> str:
        """The text of a file; bytes that are not UTF-8 are kept as surrogates.

        Raises:
            KeyError: There is no such file.
        """
        return self.files[path].content.decode("utf-8", "surrogateescape")

    def write(self, path: str, content: str | bytes, *, executable: bool | None = None) -> None:
        """Writes a file; one that was there keeps its run bit unless told."""
        data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
        before = self.files.get(path)
        bit = executable if executable is not None else bool(before and before.executable)
        self.files[path] = DraftFile(data, bit)

    def remove(self, path: str) -> None:
        """Removes a file.

        Raises:
            KeyError: There is no such file.
        """
        del self.files[path]

    def edit_settings(self, edit: Callable[[tomlkit.TOMLDocument], None]) -> None:
        """Edits `task.toml`; what `edit` leaves alone stays as it is."""
        document = tomlkit.parse(self.text("task.toml"))
        edit(document)
        self.write("task.toml", tomlkit.dumps(document))

    def save(self, folder: Path) -> None:
        """Writes the files to a new folder; whether they still make a task is for its readers to say.

        Raises:
            FileExistsError: The folder is there.
        """
        folder.mkdir(parents=True)
        for path, file in self.files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if file.link:
                target.symlink_to(file.link)
                continue
            target.write_bytes(file.content)
            target.chmod(0o755 if file.executable else 0o644)

    def _in_step(self, name: str) -> str:
        return f"{self.step}/{name}" if self.step else name
