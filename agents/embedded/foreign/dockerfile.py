"""What a Dockerfile puts where: the copied files of its last stage, its working directory and its user."""

from __future__ import annotations

import fnmatch
import json
import posixpath
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

_CONTINUED: Final = re.compile(r"\\[ \t]*$")
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


@dataclass(frozen=True, slots=True)
class Copy:
    """One COPY or ADD of files of the build context.

    Attributes:
        sources: Paths or patterns, relative to the context.
        target: Absolute path in the image; ends with "/" where a folder is meant.
        owner: What `--chown` names, "" for root.
    """

    sources: tuple[str, ...]
    target: str
    owner: str


@dataclass(frozen=True, slots=True)
class Dockerfile:
    """The last stage of a Dockerfile.

    Attributes:
        text: The whole file.
        copies: Its COPY and ADD lines in order.
        runs: The text of each RUN, CMD, ENTRYPOINT and HEALTHCHECK.
        workdir: The working directory at its end.
        user: The user at its end, "" when it sets none.
        folders: Folders that are known to exist: working directories.
        env: Its ENV and ARG values.
    """

    text: str
    copies: tuple[Copy, ...] = ()
    runs: tuple[str, ...] = ()
    workdir: str = "/"
    user: str = ""
    folders: frozenset[str] = frozenset()
    env: Mapping[str, str] = field(default_factory=dict)

    def placed(self, context: Iterable[str]) -> dict[str, str]:
        """Where files of the context end up: path in the context → path in the image, as far as it can be told."""
        paths = sorted(context)
        known, placed = set(self.folders), {}
        for copy in self.copies:
            matched = [(source, path) for source in copy.sources for path in paths if _covers(source, path)]
            as_folder = copy.target.endswith("/") or copy.target in known or len(matched) > 1 or _is_folder(copy, paths)
            for source, path in matched:
                inner = _inside(source, path)
                placed[path] = posixpath.normpath(f"{copy.target}/{inner}" if as_folder else copy.target)
            if as_folder:
                known.add(posixpath.normpath(copy.target))
        return placed


@dataclass(slots=True)
class _Reading:
    """Where reading has come to."""

    copies: list[Copy] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    workdir: str = "/"
    user: str = ""
    folders: set[str] = field(default_factory=set)
    env: dict[str, str] = field(default_factory=dict)


def parse(text: str) -> Dockerfile:
    """Reads a Dockerfile; what it does not understand is passed over."""
    state = _Reading()
    for instruction, rest in instructions(text):
        if instruction == "FROM":
            state = _Reading()
        elif instruction in {"COPY", "ADD"}:
            copy = _copy(filled(rest, state.env), state.workdir)
            if copy is not None:
                state.copies.append(copy)
        elif instruction in {"RUN", "CMD", "ENTRYPOINT", "HEALTHCHECK"}:
            state.runs.append(rest)
        elif instruction == "WORKDIR":
            state.workdir = posixpath.normpath(posixpath.join(state.workdir, filled(rest, state.env).strip("\"'")))
            state.folders.add(state.workdir)
        elif instruction == "USER":
            state.user = filled(rest, state.env)
        elif instruction in {"ENV", "ARG"}:
            state.env.update(_assignments(instruction, filled(rest, state.env)))
    return Dockerfile(
        text,
        copies=tuple(state.copies),
        runs=tuple(state.runs),
        workdir=state.workdir,
        user=state.user,
        folders=frozenset(state.folders),
        env=dict(state.env),
    )


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions with their arguments, continued lines joined, comments dropped."""
    found, held = [], ""
    for line in text.splitlines():
        if line.lstrip().startswith("#") or (not held and not line.strip()):
            continue
        held += _CONTINUED.sub(" ", line)
        if _CONTINUED.search(line):
            continue
        name, _, rest = held.strip().partition(" ")
        found.append((name.upper(), rest.strip()))
        held = ""
    return found


def with_line(text: str, line: str) -> str:
    """The Dockerfile with a line at its end."""
    return f"{text.rstrip()}\n\n{line}\n"


def _copy(rest: str, workdir: str) -> Copy | None:
    try:
        words = shlex.split(rest)
    except ValueError:
        return None
    flags = [word for word in words if word.startswith("--")]
    words = [word for word in words if not word.startswith("--")]
    listed = rest[rest.find("[") :] if words and words[0].startswith("[") else ""
    if listed:
        try:
            words = [str(word) for word in json.loads(listed)]
        except json.JSONDecodeError:
            return None
    if len(words) < 2 or any(flag.startswith("--from") for flag in flags) or any("<<" in word for word in words):  # noqa: PLR2004
        return None
    owner = next((flag.partition("=")[2] for flag in flags if flag.startswith("--chown=")), "")
    target = posixpath.join(workdir, words[-1])
    folder = words[-1].endswith(("/", "/.")) or words[-1] == "." or len(words) > 2  # noqa: PLR2004 - several sources
    normal = posixpath.normpath(target).rstrip("/")
    sources = tuple(posixpath.normpath(word.lstrip("/")) if word.strip("/") else "." for word in words[:-1])
    return Copy(sources, f"{normal}/" if folder else normal or "/", owner)


def _covers(source: str, path: str) -> bool:
    return source in {".", path} or path.startswith(f"{source}/") or fnmatch.fnmatchcase(path, source)


def _is_folder(copy: Copy, paths: list[str]) -> bool:
    return any(source == "." or any(path.startswith(f"{source}/") for path in paths) for source in copy.sources)


def _inside(source: str, path: str) -> str:
    """A path below a copied folder; the base name of a copied file."""
    if source == ".":
        return path
    return path.removeprefix(f"{source}/") if path.startswith(f"{source}/") else posixpath.basename(path)


def _assignments(instruction: str, rest: str) -> dict[str, str]:
    try:
        words = shlex.split(rest)
    except ValueError:
        return {}
    pairs = {name: value for name, equals, value in (word.partition("=") for word in words) if equals}
    if not pairs and instruction == "ENV" and len(words) > 1:
        return {words[0]: " ".join(words[1:])}
    return pairs


def filled(text: str, env: Mapping[str, str]) -> str:
    """The text with `$NAME` and `${NAME}` replaced where the name is known."""
    return _VARIABLE.sub(lambda match: env.get(match[1] or match[2], match[0]), text)
