"""Reads a task's Dockerfile into a recipe: a base image, files to place, commands to run, and settings.

Understood: `FROM` (one stage), `ARG`, `COPY` and `ADD` of local files (`--chown`, `--chmod`, globs, `.dockerignore`,
here-documents; `ADD` unpacks local archives), `RUN` (shell and exec form, here-documents, `SHELL`), `ENV`, `WORKDIR`,
`USER`, `VOLUME` (its folder is made). `CMD`, `ENTRYPOINT`, `EXPOSE`, `HEALTHCHECK`, `LABEL`, `STOPSIGNAL`,
`MAINTAINER` and `ONBUILD` change nothing for a sandbox whose commands come from outside: read and left out.
Everything else (a second stage, `COPY --from`, remote sources, `RUN --mount`) raises `UnsupportedTaskError` with its
line: only an image builder can do it, see `sandbox.image.engines`.
"""

from __future__ import annotations

import hashlib
import io
import posixpath
import re
import tarfile
from typing import TYPE_CHECKING

from sandbox.errors import ImageError
from sandbox.image.context import FOLDER, BuildContext
from sandbox.image.instructions import DOCKERFILE, Instruction, instructions, json_words, unsupported
from sandbox.image.recipe import DEFAULT_PATH, Entry, ImageConfig, Place, Recipe, Run, Step, Unpack
from sandbox.image.words import expand, fill, pairs, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox.task import Task

__all__ = ["DOCKERFILE", "Entry", "Instruction", "Place", "Recipe", "Run", "Unpack", "instructions", "read_recipe"]

_WITHOUT_EFFECT = frozenset(
    ("CMD", "ENTRYPOINT", "EXPOSE", "HEALTHCHECK", "STOPSIGNAL", "LABEL", "MAINTAINER", "ONBUILD", "COMMENT")
)
_REMOTE = re.compile(r"(?:https?|ftp|git|ssh)://|git@")
_SHOWN = 200


def _nothing_known(_image: str) -> ImageConfig:
    return ImageConfig()


def read_recipe(task: Task, config_of: Callable[[str], ImageConfig] = _nothing_known) -> Recipe:
    """Reads `environment/Dockerfile`.

    Args:
        task: Whose.
        config_of: Tells what the image that `FROM` names says of its commands: variables, working directory, user.

    Raises:
        ImageError: It is wrong: a file to copy is missing, a line cannot be read.
        UnsupportedTaskError: It is right, and more than this can do.
        TaskError: It is not UTF-8.
    """
    if not task.has(DOCKERFILE):
        raise ImageError(f"{DOCKERFILE}: missing, and task.toml names no [environment] docker_image")
    reader = _Reader(task, BuildContext.of(task), config_of)
    for instruction in instructions(task.read_text(DOCKERFILE)):
        try:
            reader.take(instruction)
        except ValueError as error:
            raise ImageError(f"{DOCKERFILE}:{instruction.line}: {instruction.name}: {error}") from error
    return reader.recipe()


def from_words(instruction: Instruction, args: dict[str, str]) -> tuple[str, str]:
    """What a `FROM` names: an image, and the stage's name or "".

    Raises:
        ValueError: It is neither IMAGE nor IMAGE AS NAME.
    """
    parts = words(instruction.flags()[1], args)
    if not parts or not parts[0] or (len(parts) > 1 and (len(parts) != 3 or parts[1].upper() != "AS")):  # noqa: PLR2004
        raise ValueError(f"{instruction.value!r} is not IMAGE or IMAGE AS NAME")
    return parts[0], parts[2] if len(parts) > 1 else ""


class _Reader:
    def __init__(self, task: Task, context: BuildContext, config_of: Callable[[str], ImageConfig]) -> None:
        self._task = task
        self._context = context
        self._config_of = config_of
        self._image = ""
        self._steps: list[Step] = []
        self._global_args: dict[str, str] = {}
        self._args: dict[str, str] = {}
        self._env: dict[str, str] = {}
        self._workdir = "/"
        self._user = ""
        self._shell = ["/bin/sh", "-c"]

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
        """What `$NAME` stands for, and what `RUN` sees: a variable beats an argument of the same name."""
        return {"PATH": DEFAULT_PATH, **self._args, **self._env}

    def take(self, instruction: Instruction) -> None:
        """Reads one instruction."""
        name = instruction.name
        if name == "FROM":
            self._from(instruction)
        elif name == "ARG":
            self._arg(instruction.value)
        elif not self._image:
            raise ValueError("comes before FROM")
        elif name in ("COPY", "ADD"):
            self._copy(instruction)
        elif name == "RUN":
            self._run(instruction)
        else:
            self._set(name, instruction.value)

    def _set(self, name: str, value: str) -> None:
        """Reads an instruction that changes how later ones are read, or nothing."""
        if name == "ENV":
            self._env.update(pairs(value, self._variables))
        elif name == "WORKDIR":
            self._workdir = posixpath.normpath(posixpath.join(self._workdir, expand(value, self._variables)))
            self._steps.append(Place((Entry("folder", self._workdir),)))
        elif name == "USER":
            self._user = expand(value, self._variables)
        elif name == "SHELL":
            self._shell = json_words(value)
            if not self._shell:
                raise ValueError('needs the form ["program", "argument"]')
        elif name == "VOLUME":
            for path in json_words(value) or words(value, self._variables):
                self._steps.append(Place((Entry("folder", posixpath.join("/", path)),)))
        elif name not in _WITHOUT_EFFECT:
            raise ValueError("no such instruction")

    def _from(self, instruction: Instruction) -> None:
        if self._image:
            raise unsupported(instruction, "a second stage")
        self._image, _stage = from_words(instruction, self._global_args)
        config = self._config_of(self._image)
        if config.triggers:
            raise unsupported(instruction, f"the base's ONBUILD ({config.triggers[0]})")
        self._env, self._workdir, self._user = dict(config.env), config.workdir, config.user

    def _arg(self, value: str) -> None:
        for word in words(value, self._variables if self._image else self._global_args):
            name, equals, default = word.partition("=")
            if not self._image:
                self._global_args[name] = default
            elif equals or name in self._global_args:
                self._args[name] = default if equals else self._global_args[name]

    def _run(self, instruction: Instruction) -> None:
        flags, text = instruction.flags()
        for flag, wanted in sorted(flags.items()):
            if (flag, wanted) not in (("network", "default"), ("security", "sandbox")):
                raise unsupported(instruction, f"RUN --{flag}")
        command = json_words(text)
        if not command:
            if not text:
                raise ValueError("has no command")
            command = [*self._shell, _script(instruction, text)]
        place = (self._variables, self._workdir, self._user)
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        self._steps.append(Run(tuple(command), instruction.line, *place, shown))

    def _copy(self, instruction: Instruction) -> None:
        flags, sources, target = self._copy_words(instruction)
        mode = None
        if "chmod" in flags:
            if not re.fullmatch(r"[0-7]{3,4}", flags["chmod"]):
                raise unsupported(instruction, f"--chmod={flags['chmod']}")
            mode = int(flags["chmod"], 8)
        into = target.endswith("/") or target in (".", "")
        target = posixpath.normpath(posixpath.join(self._workdir, target))
        if instruction.heredocs:
            self._write(instruction, sources, target, into=into, mode=mode, owner=flags.get("chown", ""))
            return
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

    def _write(
        self, instruction: Instruction, sources: list[str], target: str, *, into: bool, mode: int | None, owner: str
    ) -> None:
        """Places here-documents: each is a file of the name that ends it."""
        if sorted(sources) != sorted(document.mark for document in instruction.heredocs):
            raise unsupported(instruction, "a here-document beside other sources")
        if len(sources) > 1 and not into:
            raise ValueError(f"several sources need a target that ends with '/', not {target!r}")
        entries, texts = [], {}
        for document in instruction.heredocs:
            text = fill(document.text, self._variables) if document.expands else document.text
            sha256 = hashlib.sha256(text.encode()).hexdigest()
            goal = posixpath.join(target, document.name) if into else target
            entries.append(Entry("file", goal, sha256, 0o644 if mode is None else mode, sha256))
            texts[sha256] = text
        self._steps.append(Place(tuple(entries), owner, texts))

    def _copy_words(self, instruction: Instruction) -> tuple[dict[str, str], list[str], str]:
        given_flags, text = instruction.flags()
        flags = {name: expand(value, self._variables) for name, value in given_flags.items()}
        for flag in sorted(flags.keys() - {"chown", "chmod", "link"}):
            raise unsupported(instruction, f"--{flag}")
        given = text.split() if instruction.heredocs else json_words(text) or words(text, self._variables)
        if len(given) < 2:  # noqa: PLR2004
            raise ValueError("needs a source and a target")
        for source in given[:-1]:
            if _REMOTE.match(source):
                raise unsupported(instruction, f"the remote source {source}")
        return flags, given[:-1], expand(given[-1], self._variables) if instruction.heredocs else given[-1]

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


def _script(instruction: Instruction, text: str) -> str:
    """What the shell is to run: a here-document that is all there is, or the line and its here-documents."""
    documents = instruction.heredocs
    if len(documents) == 1 and text == documents[0].mark:
        if documents[0].text.startswith("#!"):
            raise unsupported(instruction, "RUN of a here-document with a #! line")
        return documents[0].text
    return text + "".join(f"\n{document.text}{document.name}" for document in documents)
