"""The `FROM` lines of a Dockerfile: which images it builds on, and the same text with others in their place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.errors import ImageError
from sandbox.image.dockerfile import DOCKERFILE
from sandbox.image.words import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_HEREDOC = re.compile(r"<<-?\s*[\"']?([A-Za-z_]\w*)[\"']?")
_FLAG = re.compile(r"--[a-z]+(?:=\S+)?\s+")


@dataclass(frozen=True, slots=True)
class Stage:
    """One `FROM`.

    Attributes:
        line: Its line, from 1.
        written: The image as it stands there, variables and all.
        image: The image it names.
    """

    line: int
    written: str
    image: str


def outer_stages(text: str) -> list[Stage]:
    """The `FROM` lines that name an image from outside: neither an earlier stage nor `scratch`.

    Raises:
        ImageError: A `FROM` cannot be read, or there is none.
    """
    found: list[Stage] = []
    names: set[str] = set()
    args: dict[str, str] = {}
    seen = False
    for line, name, value in _instructions(text):
        if name == "ARG" and not seen:
            for word in _words(line, value, args):
                key, _, default = word.partition("=")
                args[key] = default
        if name != "FROM":
            continue
        seen = True
        rest = value
        while match := _FLAG.match(rest):
            rest = rest[match.end() :]
        written = (rest.split(None, 1) or [""])[0]
        parts = _words(line, rest, args)
        if not parts or not parts[0]:
            raise ImageError(f"{DOCKERFILE}:{line}: FROM {value}: names no image")
        if parts[0] != "scratch" and parts[0].lower() not in names:
            found.append(Stage(line, written, parts[0]))
        if len(parts) == 3 and parts[1].upper() == "AS":  # noqa: PLR2004
            names.add(parts[2].lower())
    if not seen:
        raise ImageError(f"{DOCKERFILE}: no FROM")
    return found


def with_images(text: str, images: Mapping[Stage, str]) -> str:
    """The Dockerfile with other images in some `FROM` lines."""
    lines = text.split("\n")
    for stage, image in images.items():
        number = stage.line - 1
        while stage.written not in lines[number]:
            number += 1
        before, _, after = lines[number].partition(stage.written)
        lines[number] = f"{before}{image}{after}"
    return "\n".join(lines)


def _words(line: int, text: str, args: Mapping[str, str]) -> list[str]:
    try:
        return words(text, args)
    except ValueError as error:
        raise ImageError(f"{DOCKERFILE}:{line}: {error}") from error


def _instructions(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, name and value of each instruction; what stands in here-documents (`FROM` of SQL, of Python) is none."""
    rows = iter(enumerate(text.replace("\r\n", "\n").split("\n"), start=1))
    for number, row in rows:
        line = row.strip()
        if not line or line.startswith("#"):
            continue
        parts = [line]
        while parts[-1].endswith("\\"):
            parts[-1] = parts[-1][:-1]
            following = next((r.strip() for _, r in rows if r.strip() and not r.strip().startswith("#")), "")
            parts.append(following)
        name, _, value = " ".join(parts).partition(" ")
        if name.upper() in ("RUN", "COPY", "ADD"):
            for end in _HEREDOC.findall(value):
                for _, inner in rows:
                    if inner.strip() == end:
                        break
        yield number, name.upper(), value.strip()
