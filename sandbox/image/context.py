"""The files a Dockerfile can copy: a task's `environment/` without what `.dockerignore` takes out."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.task.files import resolve_link

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.task import Task
    from sandbox.task.files import TaskFile

FOLDER = "environment"


@dataclass(frozen=True)
class BuildContext:
    """Paths are relative to `environment/`.

    Attributes:
        files: Files and links by path.
        folders: Every folder, those that hold nothing included; "" is the context itself.
    """

    files: dict[str, TaskFile]
    folders: frozenset[str]

    @classmethod
    def of(cls, task: Task) -> BuildContext:
        """The context of a task."""
        prefix = f"{FOLDER}/"
        files = {file.path.removeprefix(prefix): file for file in task.under(FOLDER)}
        empty = [path.removeprefix(prefix) for path in task.empty_folders if path.startswith(prefix)]
        ignored = _ignored(task)
        files = {path: file for path, file in files.items() if not ignored(path)}
        empty = [path for path in empty if not ignored(path)]
        folders = {""}
        for path in (*files, *(f"{folder}/." for folder in empty)):
            parent = posixpath.dirname(path)
            while parent:
                folders.add(parent)
                parent = posixpath.dirname(parent)
        return cls(files, frozenset(folders))

    def find(self, pattern: str) -> list[str]:
        """Paths that a COPY source stands for, sorted; empty when there is none.

        Raises:
            ValueError: It leaves the context.
        """
        path = posixpath.normpath(pattern.lstrip("/") or ".")
        if path == ".." or path.startswith("../"):
            raise ValueError(f"{pattern!r} leaves the build context ({FOLDER}/)")
        path = "" if path == "." else path
        if path in self.files or path in self.folders:
            return [path]
        matches = re.compile(_glob(path))
        return sorted(known for known in (*self.files, *self.folders) if known and matches.fullmatch(known))

    def resolved(self, path: str) -> str:
        """What a path is once links are followed; a link that leads nowhere stays as it is."""
        links = {file.path: file.link for file in self.files.values() if file.link}
        full = f"{FOLDER}/{path}"
        return resolve_link(full, links).removeprefix(f"{FOLDER}/") if full in links else path

    def below(self, folder: str) -> Iterator[tuple[str, TaskFile | None]]:
        """Everything in a folder, parents first: the path relative to it, and the file (`None` for a folder)."""
        prefix = f"{folder}/" if folder else ""
        paths = sorted(path for path in (*self.files, *self.folders) if path and path.startswith(prefix))
        for path in paths:
            yield path.removeprefix(prefix), self.files.get(path)


def _ignored(task: Task) -> _Ignore:
    for name in ("Dockerfile.dockerignore", ".dockerignore"):
        if task.has(f"{FOLDER}/{name}"):
            return _Ignore(task.read_text(f"{FOLDER}/{name}"))
    return _Ignore("")


class _Ignore:
    """The rules of a `.dockerignore`: the last one that matches a path or one of its parents decides."""

    def __init__(self, text: str) -> None:
        self._rules: list[tuple[bool, re.Pattern[str]]] = []
        for line in text.splitlines():
            pattern = line.strip()
            if not pattern or line.startswith("#"):
                continue
            keeps = pattern.startswith("!")
            pattern = posixpath.normpath(pattern.removeprefix("!").strip().lstrip("/") or ".")
            self._rules.append((keeps, re.compile(_glob(pattern) + "(/.*)?")))

    def __call__(self, path: str) -> bool:
        ignored = False
        for keeps, pattern in self._rules:
            if pattern.fullmatch(path):
                ignored = not keeps
        return ignored


def _glob(pattern: str) -> str:
    """A Go file pattern (`*`, `?`, `[a-z]`, and `**` for any depth) as a regular expression."""
    parts = []
    position = 0
    while position < len(pattern):
        rest = pattern[position:]
        bracket = re.match(r"\[\^?[^\]]+\]", rest)
        if rest.startswith("**/"):
            parts.append("(?:.*/)?")
            position += 3
        elif rest.startswith("**"):
            parts.append(".*")
            position += 2
        elif bracket:
            parts.append(bracket[0])
            position += bracket.end()
        elif rest.startswith("\\") and len(rest) > 1:
            parts.append(re.escape(rest[1]))
            position += 2
        else:
            parts.append({"*": "[^/]*", "?": "[^/]"}.get(rest[0], re.escape(rest[0])))
            position += 1
    return "".join(parts)
