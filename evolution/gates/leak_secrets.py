"""What a solver must not find - solution, tests, expected output - and how to recognise it in a file.

Environments share text with solutions and tests for honest reasons: a script to repair is mostly what the repaired one
is, rows of an input come back in the expected output, tests keep a pristine copy of an input. So a match has to be
more than a shared line, and files that the instruction or the solution names (inputs, files to repair) have to hold a
whole part of a secret before that counts.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from evolution.gates.scripts import MAX_QUOTED, holds_word, solution_of, tests_of, text_of
from sandbox.task.solution import sections

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.task import Task, TaskFile

SHORTEST_LINE = 24
SHORTEST_MATCH = 40
"""Characters of shared lines below which a match may be chance."""
LEAST_SHARE = 0.3

_SCRIPTS = (".sh", ".bash", ".py", ".js", ".ts", ".rb", ".pl", ".awk", ".sql", ".c", ".go", ".rs", ".java")
# Lines that any program may have.
_IDIOM = re.compile(
    r"^(?:#|//|/\*|\*|import |from \S+ import |set -|cd |mkdir |export PATH|if __name__|with open\(|for \w+ in |while |"
    r"return |def \w+\(|class |else|elif|except|try|\}|\)|echo \"?(?:done|ok)|if \[\[? |trap |use |package )"
)
_LITERAL = re.compile(r"\b[0-9a-f]{32,}\b|(?<=['\"])[^\s/'\"$(){}\\*]{24,}(?=['\"])")
WORD = re.compile(r"[A-Za-z0-9_]+(?:[.:@-][A-Za-z0-9_]+)*")
_READABLE = re.compile(rb"(?:[\t\n\r\x20-\x7e]|[\xc2-\xf4][\x80-\xbf]{1,3}){6,}")
_TELLING = re.compile(r"expected|answer|solution|oracle|golden|truth|solve|reward|verif", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Part:
    """Distinctive lines of one part of a script: a section of `solve.sh`, or a whole file.

    Attributes:
        name: What to call it in evidence.
        lines: (line number in the file, stripped text), in order.
        texts: The texts alone.
    """

    name: str
    lines: tuple[tuple[int, str], ...]
    texts: frozenset[str]


@dataclass(frozen=True, slots=True)
class Secret:
    """One file that no solver may see.

    Attributes:
        path: Its path in the task.
        sha256: Of its bytes; "" when it is too short to tell.
        normal: Its text without indentation and blank lines; "" for binary files and for texts too short to tell.
        parts: What of a script is distinctive; none for data.
        literals: Long quoted values and digests in a test script, which are likely to be expected results.
    """

    path: str
    sha256: str
    normal: str = ""
    parts: tuple[Part, ...] = ()
    literals: tuple[str, ...] = ()

    @property
    def is_script(self) -> bool:
        """Whether it is a program; else it is data."""
        return bool(self.parts) or self.path.endswith(_SCRIPTS)


def secrets_of(task: Task) -> tuple[Secret, ...]:
    """The secrets of a task: every file of solution and tests that holds enough to be recognised."""
    tests = {file.path for file in tests_of(task)}
    files = (*solution_of(task), *tests_of(task))
    return tuple(_secret(task, file, is_test=file.path in tests) for file in files if not file.link)


def normalised(text: str) -> str:
    """`text` without indentation and blank lines."""
    return "\n".join(filter(None, map(str.strip, text.split("\n"))))


class Known:
    """Which files of the environment a solver is meant to read or change.

    Args:
        task: The task.
    """

    def __init__(self, task: Task) -> None:
        solution = [text_of(task, file) or "" for file in solution_of(task)]
        self._text = "\n".join([task.instruction, *solution])
        self._instruction = task.instruction

    def names(self, path: str) -> bool:
        """Whether instruction or solution name the file, or the instruction the folder it lies in.

        The name of the folder does not excuse a file that is called after an answer.
        """
        if self.names_file(path):
            return True
        folder, base = posixpath.split(path)
        return not _TELLING.search(base) and self._names_folder(posixpath.basename(folder))

    def names_file(self, path: str) -> bool:
        """Whether instruction or solution name the file itself."""
        return holds_word(self._text, posixpath.basename(path))

    def names_tree(self, path: str) -> bool:
        """Whether the instruction names one of the folders above a file, none of which is called after an answer."""
        above = posixpath.dirname(path).split("/")
        return not _TELLING.search(path) and any(self._names_folder(name) for name in above)

    def _names_folder(self, name: str) -> bool:
        if name in {"", "environment"} or name not in self._instruction:
            return False
        named = re.search(rf"(?<![\w-])/?{re.escape(name)}/|/{re.escape(name)}(?![\w-])", self._instruction)
        return named is not None


class Suspect:
    """A file that may hold a secret; what all secrets are compared with is worked out once.

    Args:
        path: Where it lies.
        content: Its bytes.
        kind: What to call it before its path.
        is_decoded: Whether it was encoded: then other text may touch a secret's first and last line.
    """

    def __init__(self, path: str, content: bytes, kind: str = "environment file", *, is_decoded: bool = False) -> None:
        self.is_decoded = is_decoded
        self.path = path
        self.called = f"{kind} {path}"
        self.content = content
        self.is_binary = b"\0" in content

    @cached_property
    def sha256(self) -> str:
        """Of its bytes."""
        return hashlib.sha256(self.content).hexdigest()

    @cached_property
    def text(self) -> str:
        """Its text, normalised, between two line ends; of a binary file what can be read in it, a line for each run."""
        content = b"\n".join(_READABLE.findall(self.content)) if self.is_binary else self.content
        return f"\n{normalised(content.decode('utf-8', 'replace'))}\n"

    @cached_property
    def lines(self) -> frozenset[str]:
        """Its lines, normalised."""
        return frozenset(self.text[1:-1].split("\n"))

    @cached_property
    def words(self) -> list[str]:
        """Its words and numbers, in order."""
        return WORD.findall(self.text)

    def holds(self, normal: str) -> bool:
        """Whether the normalised text of a secret stands in it: whole lines, or amid the bytes of a binary file."""
        if (self.is_binary or self.is_decoded) and len(normal) >= SHORTEST_MATCH:
            return normal in self.text
        return f"\n{normal}\n" in self.text

    def has_line(self, line: str) -> bool:
        """Whether a line stands in it; in a binary file other readable bytes may touch it."""
        return line in self.lines or (self.is_binary and line in self.text)


def recognised(
    secret: Secret,
    file: Suspect,
    *,
    known: bool,
    known_script: bool | None = None,
    in_tree: bool = False,
    least_share: float = LEAST_SHARE,
) -> tuple[str, str] | None:
    """How a file gives a secret away: code and evidence; `None` when it does not.

    Args:
        secret: What to look for.
        file: Where to look.
        known: Whether the solver is meant to use the file: then only a whole part of a script counts.
        known_script: The same as far as scripts are concerned, where that differs.
        in_tree: Whether it lies in a folder that a solver is meant to use: then tests may hold it at the same place.
        least_share: The share of a part's distinctive lines that tells, in a file that is not known.
    """
    for_scripts = known if known_script is None else known_script
    is_script = secret.is_script
    if (known or in_tree) and _is_pristine_copy(secret.path, file.path, 1 if known else 2):
        return None
    if secret.sha256 and (is_script or not known) and file.sha256 == secret.sha256:
        return "copy", f"{file.called} is the same as {secret.path}, byte for byte"
    if secret.normal and (is_script or not known) and file.holds(secret.normal):
        return "copy", f"{file.called} holds all the text of {secret.path}, first:\n  {_first_line(secret.normal)}"
    for part in secret.parts:
        if not file.is_binary and file.lines.isdisjoint(part.texts):
            continue
        shared = [(number, line) for number, line in part.lines if file.has_line(line)]
        least = 1.0 if for_scripts else least_share
        if sum(len(line) for _, line in shared) < SHORTEST_MATCH or len(shared) < least * len(part.lines):
            continue
        number, line = shared[0]
        said = f"{file.called} holds {len(shared)} of {len(part.lines)} distinctive lines of {part.name}"
        return "lines", f"{said}, first:\n  {secret.path}:{number}: {line}"
    for value in () if known else secret.literals:
        if value in file.text:
            return "expected-value", f"{file.called} holds {value!r}, which {secret.path} expects"
    return None


def data_secret(path: str, content: bytes) -> Secret:
    """A secret that is no file of the task: what some file holds once the task is solved.

    Args:
        path: What to call it.
        content: Its bytes.
    """
    sha256 = hashlib.sha256(content).hexdigest() if len(content) >= SHORTEST_LINE else ""
    normal = "" if b"\0" in content else normalised(content.decode("utf-8", "replace"))
    return Secret(path, sha256, normal if len(normal) >= SHORTEST_LINE else "")


def _is_pristine_copy(secret: str, path: str, depth: int) -> bool:
    """Whether tests keep a file that a solver works on, to see what became of it: the ends of the paths are the same.

    What the reference solution writes is looked for in it all the same.
    """
    theirs, ours = secret.split("/"), path.split("/")
    is_script = secret.endswith(_SCRIPTS)
    return (
        "tests" in theirs[:-depth]
        and theirs[-depth:] == ours[-depth:]
        and not theirs[-1].startswith("test.")
        and (is_script or depth > 1)
    )


def _first_line(normal: str) -> str:
    line = normal.partition("\n")[0]
    return line if len(line) <= MAX_QUOTED else f"{line[:MAX_QUOTED]}…"


def _secret(task: Task, file: TaskFile, *, is_test: bool) -> Secret:
    text = text_of(task, file)
    sha256 = file.sha256 if file.size >= SHORTEST_LINE else ""
    if text is None:
        return Secret(file.path, sha256)
    normal = normalised(text)
    normal = normal if len(normal) >= SHORTEST_LINE else ""
    if not file.path.endswith(_SCRIPTS):
        return Secret(file.path, sha256, normal)
    literals = tuple(v for v in dict.fromkeys(_LITERAL.findall(text)) if v not in task.instruction) if is_test else ()
    return Secret(file.path, sha256, normal, tuple(_parts(task, file.path, text)), literals)


def _parts(task: Task, path: str, text: str) -> Iterator[Part]:
    """Sections of a script, or the whole of it where it has none; those without a distinctive line are left out."""
    number = 1
    for section in sections(text):
        if not section.text:
            continue
        kept: list[tuple[int, str]] = []
        for raw in section.text.removesuffix("\n").split("\n"):
            line = raw.strip()
            if len(line) >= SHORTEST_LINE and not _IDIOM.match(line) and line not in task.instruction:
                kept.append((number, line))
            number += 1
        if kept:
            yield Part(
                f"section {section.id} of {path}" if section.id else path,
                tuple(kept),
                frozenset(line for _, line in kept),
            )
