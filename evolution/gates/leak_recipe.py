"""Reads an environment's recipes - Dockerfiles, compose files - instruction by instruction, as layers keep them.

What an instruction brings in stays in its layer when a later one removes it. Files that are copied lie in
`environment/` and are looked at there; here it is what the recipe itself says: here-documents, quoted texts of `RUN`
lines, and values of `ENV`, `ARG`, `LABEL` and of a compose file's `environment`.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from evolution.gates.leak_compose import variables_of
from evolution.gates.leak_scan import GATE, Place
from evolution.gates.leak_shell import quoted
from evolution.gates.outcomes import finding
from evolution.gates.scripts import Line, text_of
from sandbox.errors import ImageError
from sandbox.image.instructions import Heredoc, Instruction, instructions
from sandbox.image.words import pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evolution.gates.leak_scan import Scan
    from evolution.verdict import Finding
    from sandbox.task import Task

RECIPE: Final = re.compile(r"(^|/)(?:[\w.-]*Dockerfile[\w.-]*|(?:docker-)?compose[\w.-]*\.ya?ml)$")
SHORTEST_VALUE: Final = 8

_UPWARDS = re.compile(r"(?:^|[\s\"'=:\[,])(?:\./)?\.\./[^\s\"',\]]*")
_HARNESS_FOLDER = re.compile(r"(?:^|[\s\"'=,])/(?:tests|solution|logs/verifier)(?:[/\s\"'\],]|$)")
_COPIES = re.compile(r"^\s*(?:COPY|ADD)\s", re.IGNORECASE)
_TARGET = re.compile(r"(?:>>?|\btee(?:\s+-a)?|\bof=)\s*[\"']?([\w./~$-]+)")
_REMOVES = re.compile(r"\brm\s+(?:-\w+\s+)*([^;&|]+)")


def recipe_findings(task: Task, scan: Scan) -> Iterator[Finding]:
    """What the recipes take from outside of the environment, and what their own text gives away."""
    for file in task.under("environment"):
        text = text_of(task, file) if RECIPE.search(file.path) else None
        if text is None:
            continue
        is_compose = file.path.endswith((".yaml", ".yml"))
        yield from _outside(file.path, text)
        yield from _of_compose(file.path, text, scan) if is_compose else _of_dockerfile(file.path, text, scan)
    for name, value in sorted(task.config.environment.env.items()):
        yield from value_findings(scan, "task.toml", f"task.toml [environment] env {name}", name, value)


def value_findings(scan: Scan, where: str, called: str, name: str, value: str) -> Iterator[Finding]:
    """What a variable gives away: a text that holds a secret, or one that is a whole one, however short."""
    place = Place(f"{where} {name}", "environment", "variable in", known=False)
    yield from scan.look(place, value.encode("utf-8", "replace"))
    bare = _unescaped(value).strip()
    if len(bare) < SHORTEST_VALUE or not re.search(r"\d", bare) or scan.is_public(bare):
        return
    for line in filter(None, map(str.strip, bare.splitlines())):
        if line in scan.expected_lines and not scan.is_public(line):
            yield finding(GATE, "environment", f"{called} holds {line!r}, a line of {scan.expected_lines[line]}", where)
            return
    for path, whole in scan.short_answers.items():
        if bare == whole:
            yield finding(GATE, "environment", f"{called} is {bare!r}, which is all that {path} holds", where)


def _unescaped(value: str) -> str:
    """A value with the tabs and line ends that a recipe can only hold as escapes."""
    return value.replace("\\t", "\t").replace("\\n", "\n")


def removals(task: Task) -> tuple[tuple[int, str], ...]:
    """What `RUN rm` lines of the Dockerfile name: line, path or pattern."""
    found: list[tuple[int, str]] = []
    path = "environment/Dockerfile"
    for instruction in _instructions(task.read_text(path) if task.has(path) else ""):
        if instruction.name == "RUN":
            for match in _REMOVES.finditer(instruction.value):
                found += [(instruction.line, word.strip("\"'")) for word in match[1].split()]
    return tuple(found)


def _outside(path: str, text: str) -> Iterator[Finding]:
    for line in _logical_lines(path, text):
        if line.text.lstrip().startswith("#"):
            continue
        is_copy = _COPIES.match(line.text) is not None
        outside = _UPWARDS.search(line.text) if is_copy or not path.endswith("Dockerfile") else None
        where = f"{path}:{line.number}"
        if outside:
            said = f"{line}\n  takes in {outside[0].strip()}, which lies outside of environment/"
            yield finding(GATE, "dockerfile", said, where)
        elif is_copy and "--from=" not in line.text and _HARNESS_FOLDER.search(line.text):
            yield finding(GATE, "dockerfile", f"{line}\n  fills a folder that belongs to solution or verifier", where)


def _of_dockerfile(path: str, text: str, scan: Scan) -> Iterator[Finding]:
    for instruction in _instructions(text):
        where = f"{path}:{instruction.line}"
        if instruction.name in {"ENV", "ARG", "LABEL"}:
            code = "environment" if instruction.name == "ENV" else "layer"
            for name, value in _named_values(instruction).items():
                if code == "environment":
                    yield from value_findings(scan, where, f"{where}: ENV {name}", name, value)
                else:
                    place = Place(f"{where} {name}", code, f"{instruction.name} in", known=False)
                    yield from scan.look(place, value.encode())
        elif instruction.name in {"RUN", "COPY", "ADD"}:
            for number, (target, content) in enumerate(_written(instruction), start=1):
                known = scan.known.names(target) if target else False
                place = Place(where, "layer", f"text {number} of {instruction.name} in", known)
                yield from scan.look(place, content.encode())


def _of_compose(path: str, text: str, scan: Scan) -> Iterator[Finding]:
    variables = variables_of(text)
    for service, name, value in variables.found:
        yield from value_findings(scan, path, f"{path}: {name} of service {service}", name, value)
    if variables.cut:
        scan.unseen.note("cut", path)


def _instructions(text: str) -> list[Instruction]:
    try:
        return instructions(text)
    except (ImageError, ValueError):
        return []  # gate `build` says so


def _named_values(instruction: Instruction) -> dict[str, str]:
    try:
        return pairs(instruction.value, {})
    except ValueError:
        return {"": instruction.value}


def _written(instruction: Instruction) -> Iterator[tuple[str, str]]:
    """The texts an instruction holds, each with the file it is written to as far as one can tell."""
    for document in instruction.heredocs:
        yield _target_of(instruction, document), document.text
    if instruction.name == "RUN":
        for piece in re.split(r"&&|;|\|\|", instruction.value):
            target = _TARGET.search(piece)
            for text in quoted(piece):
                yield (target[1] if target else ""), text.replace("\\n", "\n").replace('\\"', '"')
        yield "", instruction.value


def _target_of(instruction: Instruction, document: Heredoc) -> str:
    if instruction.name != "RUN":
        goal = instruction.value.split()[-1]
        return posixpath.join(goal, document.name) if goal.endswith("/") else goal
    target = _TARGET.search(instruction.value.replace(document.mark, " "))
    return target[1] if target else ""


def _logical_lines(path: str, text: str) -> Iterator[Line]:
    """Lines with those that a backslash continues joined to them, numbered by their first."""
    joined, first = "", 1
    for number, raw in enumerate(text.split("\n"), start=1):
        first = first if joined else number
        line = raw.rstrip("\r")
        if line.endswith("\\"):
            joined += f"{line[:-1]} "
            continue
        yield Line(path, first, joined + line)
        joined = ""
    if joined:
        yield Line(path, first, joined)
