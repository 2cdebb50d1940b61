"""Reads a task's Dockerfile into a recipe: a base image, files to place, and settings.

Understood: `FROM` (one stage), `ARG`, `COPY` and `ADD` of local files (`--chown`, `--chmod`, globs, `.dockerignore`;
`ADD` unpacks local archives), `ENV`, `WORKDIR`, `USER`. `CMD`, `ENTRYPOINT`, `EXPOSE`, `HEALTHCHECK`, `LABEL`, `SHELL`,
`STOPSIGNAL` and `MAINTAINER` change nothing for a sandbox whose commands come from outside: read and left out.
Everything else, `RUN` first of all, raises `UnsupportedTaskError` with its line.
"""

from __future__ import annotations

import io
import json
import posixpath
import re
import tarfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from sandbox.errors import ImageError, UnsupportedTaskError
from sandbox.image.context import FOLDER, BuildContext
from sandbox.image.words import expand, pairs, words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.task import Task

DOCKERFILE = f"{FOLDER}/Dockerfile"
_WITHOUT_EFFECT = frozenset(
    ("CMD", "ENTRYPOINT", "EXPOSE", "HEALTHCHECK", "SHELL", "STOPSIGNAL", "LABEL", "MAINTAINER", "COMMENT")
)
_KNOWN = frozenset(("RUN", "VOLUME", "ONBUILD"))
_FLAG = re.compile(r"--([a-z]+)(?:=(\S+))?\s+")
_REMOTE = re.compile(r"(?:https?|ftp|git|ssh)://|git@")
_HEREDOC = re.compile(r"<<-?[\"']?[A-Za-z_]")

Kind = Literal["folder", "file", "single", "link"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing to place in the image.

    Attributes:
        kind: `single` is a file that goes *into* the target where that is a folder.
        target: Absolute path in the image.
        source: Path in the build context; of a link, what it points to.
        mode: Permissions.
        sha256: Of a file's bytes.
    """

    kind: Kind
    target: str
    source: str = ""
    mode: int = 0o755
    sha256: str = ""

    def row(self) -> tuple[Kind, str, str, int, str]:
        """Its fields in order."""
        return self.kind, self.target, self.source, self.mode, self.sha256


@dataclass(frozen=True, slots=True)
class Place:
    """Entries placed together, in order, for one owner ("" is root)."""

    entries: tuple[Entry, ...]
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Unpack:
    """An archive of the context unpacked into a folder."""

    source: str
    target: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Recipe:
    """How an image is made.

    Attributes:
        image: What `FROM` names.
        steps: What is done on top of it, in order.
        env: Variables.
        workdir: Working directory.
        user: User of commands, "" for root.
    """

    image: str
    steps: tuple[Place | Unpack, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str = ""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its line (from 1), its name in capitals, the rest."""

    line: int
    name: str
    value: str


def read_recipe(task: Task) -> Recipe:
    """Reads `environment/Dockerfile`.

    Raises:
        ImageError: It is wrong: a file to copy is missing, a line cannot be read.
        UnsupportedTaskError: It is right, and more than this can do.
    """
    if not task.has(DOCKERFILE):
        raise ImageError(f"{DOCKERFILE}: missing, and task.toml names no [environment] docker_image")
    reader = _Reader(task, BuildContext.of(task))
    for instruction in instructions(task.read_text(DOCKERFILE)):
        try:
            reader.take(instruction)
        except ValueError as error:
            raise ImageError(f"{DOCKERFILE}:{instruction.line}: {instruction.name}: {error}") from error
    return reader.recipe()


def instructions(text: str) -> list[Instruction]:
    """Splits a Dockerfile into instructions; comments are left out."""
    from dockerfile_parse import DockerfileParser

    parser = DockerfileParser(fileobj=io.BytesIO(_joinable(text).encode()))
    found = [
        Instruction(int(row["startline"]) + 1, str(row["instruction"]).upper(), str(row["value"] or "").strip())
        for row in parser.structure
    ]
    return [instruction for instruction in found if instruction.name != "COMMENT"]


def _joinable(text: str) -> str:
    """Makes blank lines within a continued instruction into comments: Docker skips them, the parser ends there."""
    lines = text.replace("\r\n", "\n").split("\n")
    continued = False
    for number, line in enumerate(lines):
        if continued and not line.strip():
            lines[number] = "#"
        elif not line.lstrip().startswith("#"):
            continued = line.rstrip().endswith("\\")
    return "\n".join(lines)


class _Reader:
    def __init__(self, task: Task, context: BuildContext) -> None:
        self._task = task
        self._context = context
        self._image = ""
        self._steps: list[Place | Unpack] = []
        self._global_args: dict[str, str] = {}
        self._args: dict[str, str] = {}
        self._env: dict[str, str] = {}
        self._workdir = "/"
        self._user = ""

    def recipe(self) -> Recipe:
        """What has been read.

        Raises:
            ImageError: There was no `FROM`.
        """
        if not self._image:
            raise ImageError(f"{DOCKERFILE}: no FROM")
        return Recipe(self._image, tuple(self._steps), dict(self._env), self._workdir, self._user)

    @property
    def _variables(self) -> dict[str, str]:
        return {**self._args, **self._env}

    def take(self, instruction: Instruction) -> None:
        """Reads one instruction."""
        name, value = instruction.name, instruction.value
        if name == "FROM":
            self._from(instruction)
        elif name == "ARG":
            self._arg(value)
        elif not self._image:
            raise ValueError("comes before FROM")
        elif name in ("COPY", "ADD"):
            self._copy(instruction)
        elif name == "ENV":
            self._env.update(pairs(value, self._variables))
        elif name == "WORKDIR":
            self._workdir = posixpath.normpath(posixpath.join(self._workdir, expand(value, self._variables)))
            self._steps.append(Place((Entry("folder", self._workdir),)))
        elif name == "USER":
            self._user = expand(value, self._variables)
        elif name in _KNOWN:
            raise unsupported(instruction, name)
        elif name not in _WITHOUT_EFFECT:
            raise ValueError("no such instruction")

    def _from(self, instruction: Instruction) -> None:
        if self._image:
            raise unsupported(instruction, "a second stage")
        text = instruction.value
        while match := _FLAG.match(text):
            text = text[match.end() :]
        parts = words(text, self._global_args)
        if not parts or not parts[0] or (len(parts) > 1 and (len(parts) != 3 or parts[1].upper() != "AS")):  # noqa: PLR2004
            raise ValueError(f"{instruction.value!r} is not IMAGE or IMAGE AS NAME")
        self._image = parts[0]

    def _arg(self, value: str) -> None:
        for word in words(value, self._variables if self._image else self._global_args):
            name, equals, default = word.partition("=")
            if not self._image:
                self._global_args[name] = default
            elif equals or name in self._global_args:
                self._args[name] = default if equals else self._global_args[name]

    def _copy(self, instruction: Instruction) -> None:
        flags, sources, target = self._copy_words(instruction)
        mode = None
        if "chmod" in flags:
            if not re.fullmatch(r"[0-7]{3,4}", flags["chmod"]):
                raise unsupported(instruction, f"--chmod={flags['chmod']}")
            mode = int(flags["chmod"], 8)
        into = target.endswith("/") or target in (".", "")
        target = posixpath.normpath(posixpath.join(self._workdir, target))
        found: list[str] = []
        for source in sources:
            paths = self._context.find(source)
            if not paths:
                raise ValueError(
                    f"{source!r} is not in the build context ({FOLDER}/, without what .dockerignore names)"
                )
            found += paths
        if len(found) > 1 and not into:
            raise ValueError(f"several sources need a target that ends with '/', not {target!r}")
        entries: list[Entry] = []
        for path in found:
            if instruction.name == "ADD" and self._is_archive(path):
                self._steps.append(Unpack(path, target, self._context.files[path].sha256))
            else:
                entries += self._entries(path, target, into=into, mode=mode)
        if entries:
            self._steps.append(Place(tuple(entries), flags.get("chown", "")))

    def _copy_words(self, instruction: Instruction) -> tuple[dict[str, str], list[str], str]:
        text = instruction.value + " "
        flags: dict[str, str] = {}
        while match := _FLAG.match(text):
            flags[match[1]] = expand(match[2] or "", self._variables)
            text = text[match.end() :]
        for flag in sorted(flags.keys() - {"chown", "chmod", "link"}):
            raise unsupported(instruction, f"--{flag}")
        if _HEREDOC.search(text):
            raise unsupported(instruction, "a here-document")
        given = _json_words(text) or words(text, self._variables)
        if len(given) < 2:  # noqa: PLR2004
            raise ValueError("needs a source and a target")
        for source in given[:-1]:
            if _REMOTE.match(source):
                raise unsupported(instruction, f"the remote source {source}")
        return flags, given[:-1], given[-1]

    def _entries(self, path: str, target: str, *, into: bool, mode: int | None) -> list[Entry]:
        path = self._context.resolved(path)
        if path in self._context.folders:
            entries = [Entry("folder", target, mode=0o755 if mode is None else mode)]
            for relative, file in self._context.below(path):
                goal = posixpath.join(target, relative)
                if file is None:
                    entries.append(Entry("folder", goal, mode=0o755 if mode is None else mode))
                elif file.link:
                    entries.append(Entry("link", goal, file.link))
                else:
                    source = posixpath.join(path, relative)
                    entries.append(Entry("file", goal, source, _mode(file.executable, mode), file.sha256))
            return entries
        file = self._context.files[path]
        goal = posixpath.join(target, posixpath.basename(path)) if into else target
        return [Entry("file" if into else "single", goal, path, _mode(file.executable, mode), file.sha256)]

    def _is_archive(self, path: str) -> bool:
        if path not in self._context.files:
            return False
        content = self._task.read_bytes(f"{FOLDER}/{path}")
        return tarfile.is_tarfile(io.BytesIO(content))


def _mode(executable: bool, wanted: int | None) -> int:
    return (0o755 if executable else 0o644) if wanted is None else wanted


def _json_words(text: str) -> list[str]:
    """The words of the form `["a", "b"]`; nothing when it is the plain form."""
    if not text.startswith("["):
        return []
    try:
        given = json.loads(text)
    except ValueError:
        return []
    return given if isinstance(given, list) and all(isinstance(word, str) for word in given) else []


def unsupported(instruction: Instruction, what: str) -> UnsupportedTaskError:
    """The error for what a recipe cannot hold."""
    return UnsupportedTaskError(
        f"{DOCKERFILE}:{instruction.line}: {what} needs a real image builder, which the bubblewrap back end is not. "
        "Use the docker back end (--sandbox docker), or do the work beforehand in a root folder and map the image "
        "to it (--base IMAGE=DIR)"
    )
