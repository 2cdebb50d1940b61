"""Splits a Dockerfile into its instructions: continued lines joined, comments left out, here-documents set apart."""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass

from sandbox.errors import ImageError, UnsupportedTaskError
from sandbox.image.context import FOLDER

DOCKERFILE = f"{FOLDER}/Dockerfile"
FLAG = re.compile(r"--([a-z]+)(?:=(\S+))?\s+")
_HEREDOC = re.compile(r"(?<!\S)\d*<<(-?)([\"']?)([A-Za-z_][\w.-]*)\2(?=\s|$)")
_WITH_HEREDOCS = ("RUN", "COPY", "ADD")


@dataclass(frozen=True, slots=True)
class Heredoc:
    """A here-document.

    Attributes:
        name: The word that ends it.
        text: Its lines; of the form `<<-` without leading tabs.
        expands: Whether variables in it are filled in: its word stands without quotes.
        mark: How the instruction names it (`<<EOF`).
    """

    name: str
    text: str
    expands: bool
    mark: str


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes:
        line: Where it begins, from 1.
        name: In capitals.
        value: The rest, continued lines joined.
        heredocs: Here-documents that follow it.
        last: Its last line, here-documents left out.
    """

    line: int
    name: str
    value: str
    heredocs: tuple[Heredoc, ...] = ()
    last: int = 0

    def flags(self) -> tuple[dict[str, str], str]:
        """Its leading `--name=value` words as they stand, and what comes behind them."""
        text = self.value + " "
        flags: dict[str, str] = {}
        while match := FLAG.match(text):
            flags[match[1]] = match[2] or ""
            text = text[match.end() :]
        return flags, text.strip()


def instructions(text: str) -> list[Instruction]:
    """Splits a Dockerfile into instructions; comments are left out.

    Raises:
        ImageError: A here-document has no end.
    """
    from dockerfile_parse import DockerfileParser

    plain, heredocs = _without_heredocs(text.replace("\r\n", "\n").split("\n"))
    parser = DockerfileParser(fileobj=io.BytesIO("\n".join(plain).encode()))
    found = [
        Instruction(
            int(row["startline"]) + 1,
            str(row["instruction"]).upper(),
            str(row["value"] or "").strip(),
            heredocs.get(int(row["endline"]), ()),
            int(row["endline"]) + 1,
        )
        for row in parser.structure
    ]
    return [instruction for instruction in found if instruction.name != "COMMENT"]


def json_words(text: str) -> list[str]:
    """The words of the form `["a", "b"]`; nothing when it is the plain form."""
    if not text.startswith("["):
        return []
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return given if isinstance(given, list) and all(isinstance(word, str) for word in given) else []


def unsupported(instruction: Instruction, what: str) -> UnsupportedTaskError:
    """The error for what a recipe cannot hold."""
    return UnsupportedTaskError(
        f"{DOCKERFILE}:{instruction.line}: {what} needs a real image builder: install docker, buildah or podman, and "
        "the bubblewrap back end builds with it; or use the docker back end (--sandbox docker); or do the work "
        "beforehand in a root folder and map the image to it (--base IMAGE=DIR)"
    )


def _without_heredocs(lines: list[str]) -> tuple[list[str], dict[int, tuple[Heredoc, ...]]]:
    """Makes comments of here-documents, which the parser does not know, and of blank lines within an instruction.

    Docker skips such blank lines, while the parser ends the instruction there.

    Returns:
        The lines, as many as before; and here-documents by the number of the last line of their instruction.
    """
    heredocs: dict[int, tuple[Heredoc, ...]] = {}
    plain: list[str] = []
    name, logical, continued = "", "", False
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.lstrip().startswith("#") or (continued and not line.strip()):
            plain.append("#" if continued else line)
            continue
        plain.append(line)
        if not continued:
            name, logical = (line.split(None, 1) or [""])[0].upper(), ""
        continued = line.rstrip().endswith("\\")
        logical += line.rstrip().removesuffix("\\")
        if continued or name not in _WITH_HEREDOCS:
            continue
        end, found = len(plain) - 1, []
        for match in _HEREDOC.finditer(logical):
            body, at = _body(lines, at, match)
            found.append(Heredoc(match[3], body, not match[2], match[0]))
        plain += ["#"] * (at - len(plain))
        if found:
            heredocs[end] = tuple(found)
    return plain, heredocs


def _body(lines: list[str], at: int, match: re.Match[str]) -> tuple[str, int]:
    """The here-document that begins at a line, and where the next thing begins."""
    body: list[str] = []
    for number in range(at, len(lines)):
        line = lines[number].lstrip("\t") if match[1] else lines[number]
        if line == match[3]:
            return "".join(f"{text}\n" for text in body), number + 1
        body.append(line)
    raise ImageError(f"{DOCKERFILE}:{at}: the here-document {match[0]} has no end (a line that is just {match[3]})")
