"""The files a Dockerfile can copy: a task's `environment/` without what `.dockerignore` takes out."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.errors import ImageError
from sandbox.task.files import resolve_link

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.task import Task
    from sandbox.task.files import TaskFile

FOLDER = "environment"
_TOKEN = re.compile(
    r"(?<![^/])(?P<folders>(?:\*\*/)+)|(?P<any>\*\*+)|(?P<star>\*)|(?P<set>\[\^?(?:\\.|[^\]\\]){1,100}\])|\\(?P<kept>.)|(?P<one>.)",
    re.DOTALL,
)
_RANGE = re.compile(r"(?P<first>\\?.)(?:-(?P<last>\\?.))?", re.DOTALL)


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
        """The context of a task.

        Raises:
            ImageError: A line of its `.dockerignore` is no pattern.
            TaskError: Its `.dockerignore` is not UTF-8.
        """
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
            ValueError: It leaves the context, or is no pattern.
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
            return _Ignore(task.read_text(f"{FOLDER}/{name}"), f"{FOLDER}/{name}")
    return _Ignore("", "")


class _Ignore:
    """The rules of a `.dockerignore`: the last one that matches a path or one of its parents decides."""

    def __init__(self, text: str, file: str) -> None:
        self._rules: list[tuple[bool, re.Pattern[str]]] = []
        for number, line in enumerate(text.splitlines(), start=1):
            pattern = line.strip()
            if not pattern or line.startswith("#"):
                continue
            keeps = pattern.startswith("!")
            pattern = posixpath.normpath(pattern.removeprefix("!").strip().lstrip("/") or ".")
            try:
                self._rules.append((keeps, re.compile(_glob(pattern, "(?:/.*)?"))))
            except ValueError as error:
                raise ImageError(f"{file}:{number}: {error}") from error

    def __call__(self, path: str) -> bool:
        ignored = False
        for keeps, pattern in self._rules:
            if pattern.fullmatch(path):
                ignored = not keeps
        return ignored


def _glob(pattern: str, rest: str = "") -> str:
    """A Go file pattern (`*`, `?`, `[a-z]`, and `**` for any depth) as a regular expression, followed by `rest`.

    The expression takes the first place where what stands between two wildcards fits and never comes back to it; a
    later place would only leave less for the next wildcard. Otherwise a row of stars takes time without end.

    Raises:
        ValueError: A range in it runs backwards.
    """
    parts, closing, deep = [""], [""], ""
    for token in _TOKEN.finditer(pattern):
        if token["one"] or token["kept"]:
            parts[-1] += "[^/]" if token["one"] == "?" else re.escape(token["one"] or token["kept"])
        elif token["set"]:
            parts[-1] += _set(token["set"])
        elif token["star"]:
            parts.append("(?>[^/]*?")
            closing.append(")")
        else:
            # All up to the next `**` is a part of this one: a star cannot leave its folder, so this may have to go on.
            closing[-1] += deep
            parts.append("(?>(?:.*?/)??" if token["folders"] else "(?>.*?")
            closing.append("")
            deep = ")"
    parts[-1] += rest + (r"\Z" if len(parts) > 1 else "")
    return "".join(part + end for part, end in zip(parts, closing, strict=True)) + deep


def _set(text: str) -> str:
    """`[a-z]` or `[^a-z]` as a regular expression; it never matches a slash."""
    excluded = "^" if text.startswith("[^") and len(text) > len("[^]") else ""
    found = []
    for item in _RANGE.finditer(text[1 + len(excluded) : -1]):
        first, last = item["first"][-1], (item["last"] or item["first"])[-1]
        if last < first:
            raise ValueError(f"{text}: the range {item[0]} runs backwards")
        found.append(re.escape(first) if first == last else f"{re.escape(first)}-{re.escape(last)}")
    return f"(?!/)[{excluded}{''.join(found)}]"
