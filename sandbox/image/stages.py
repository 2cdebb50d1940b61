"""A Dockerfile as an image builder sees it: which images it stands on, and the same with those exchanged for ours."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from sandbox.errors import ImageError
from sandbox.image.context import FOLDER
from sandbox.image.dockerfile import from_words
from sandbox.image.instructions import DOCKERFILE, instructions
from sandbox.image.words import expand, words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.image.instructions import Instruction
    from sandbox.task import Task

_FORMAT = 1


class Stages:
    """A Dockerfile read for the images it names.

    Args:
        text: Its text.

    Raises:
        ImageError: A `FROM` cannot be read, or there is none.
    """

    def __init__(self, text: str) -> None:
        self._lines = text.replace("\r\n", "\n").split("\n")
        self._uses: list[tuple[Instruction, str]] = []
        self.count = 0
        stages: set[str] = set()
        args: dict[str, str] = {}
        for instruction in instructions(text):
            try:
                if instruction.name == "ARG" and not self.count:
                    for word in words(instruction.value, args):
                        name, _, default = word.partition("=")
                        args[name] = default
                elif instruction.name == "FROM":
                    image, stage = from_words(instruction, args)
                    if image.lower() not in stages and image != "scratch":
                        self._uses.append((instruction, image))
                    stages |= {stage.lower(), str(self.count)}
                    self.count += 1
                elif instruction.name == "COPY" and "from" in instruction.flags()[0]:
                    image = expand(instruction.flags()[0]["from"], args)
                    if image.lower() not in stages:
                        self._uses.append((instruction, image))
            except ValueError as error:
                raise ImageError(f"{DOCKERFILE}:{instruction.line}: {instruction.name}: {error}") from error
        if not self.count:
            raise ImageError(f"{DOCKERFILE}: no FROM")

    @property
    def images(self) -> tuple[str, ...]:
        """The images it names that are no stages of its own, sorted."""
        return tuple(sorted({image for _instruction, image in self._uses}))

    def with_images(self, names: Mapping[str, str]) -> str:
        """The text with image names exchanged; those not listed stay."""
        lines = list(self._lines)
        for instruction, image in self._uses:
            if image not in names:
                continue
            first, last = instruction.line - 1, instruction.last
            if instruction.name == "FROM":
                _flags, rest = instruction.flags()
                flags = instruction.value[: len(instruction.value) - len(rest)].split()
                line = " ".join(("FROM", *flags, names[image], *rest.split()[1:]))
                lines[first:last] = [line, *["#"] * (last - first - 1)]
            else:
                given = f"--from={instruction.flags()[0]['from']}"
                lines[first:last] = [line.replace(given, f"--from={names[image]}") for line in lines[first:last]]
        return "\n".join(lines)


def builder_key(task: Task, text: str) -> str:
    """A key that is the same for what an image builder makes the same of: a Dockerfile and all that lies beside it.

    Args:
        task: Whose.
        text: The Dockerfile, its images named by their contents as far as those are known.
    """
    files = [[file.path, file.link or "", file.executable, file.sha256] for file in task.under(FOLDER)]
    folders = [path for path in task.empty_folders if path.startswith(f"{FOLDER}/")]
    body = json.dumps(["builder", _FORMAT, text, files, folders], sort_keys=True)
    return hashlib.sha256(body.encode()).hexdigest()[:24]
