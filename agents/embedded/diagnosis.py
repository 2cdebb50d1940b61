"""What the author makes of a finding: which of its files it looks at again.

It has the finding's text and its folder, and it knows its own habits: which part of a task a gate speaks of, and how it
writes tests. What a finding quotes it looks for in the folder. A finding that quotes another task's paths, units or
lines is not about this folder; one that quotes nothing gives no hint where to look. Neither is acted on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from agents.embedded import library

TESTS: Final = ("tests/",)
SOLUTION: Final = ("solution/",)
ENVIRONMENT: Final = ("environment/",)
_RUN: Final = (*SOLUTION, *TESTS, *ENVIRONMENT, "task.toml")
_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "rubric": (*TESTS, *SOLUTION, "instruction.md"),
    "leak": (*ENVIRONMENT, "instruction.md"),
    "build": _RUN,
    "oracle": _RUN,
    "noop": (*TESTS, *ENVIRONMENT, "task.toml"),
    "rerun": _RUN,
    "exploit": (*TESTS, *ENVIRONMENT),
    "mutation": TESTS,
    "alternative": TESTS,
    "harder": (*SOLUTION, *TESTS),
    "task": _RUN,
}
_LEAST_FOUND: Final = 0.75
"""Of what is quoted, the share that has to be in the folder: findings are cut, and paths in them with it."""

# What only one task has: paths below /app or in its folder, test units, hosts.
_PATH: Final = re.compile(r"/app/[\w./-]*\w|\b(?:environment|tests|solution)/[\w./-]*\w")
_UNIT: Final = re.compile(r"\b([a-z0-9][a-z0-9-]*)::(\w+)")
_HOST: Final = re.compile(r"\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:net|com|org|test|invalid|example|internal)\b")
# Lines of files ("tests/test.sh:7: …") and of outputs, which gates indent.
_LINES: Final = (
    re.compile(r"\b[\w./-]+:\d+: (.{8,}?)(?=: exit status|$)", re.MULTILINE),
    re.compile(r"^ {2,}(.{16,})$", re.MULTILINE),
)
_IN_EVERY_TASK: Final = frozenset(
    {
        "/app",
        "/app/data",
        "/app/out",
        "environment/Dockerfile",
        "environment/data",
        "solution/solve.sh",
        "tests/checks",
        "tests/expected",
        "tests/run_checks.py",
        "tests/test.sh",
    }
)


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found in the last attempt.

    Attributes:
        code: Its code, `<gate>/<what>`.
        text: Its evidence.
    """

    code: str
    text: str


def suspects(findings: Iterable[Finding], files: Mapping[str, bytes]) -> frozenset[str]:
    """Paths of the files to look at again.

    Args:
        findings: What is said of the folder.
        files: The folder as it is.
    """
    texts = {path: content.decode("utf-8", "replace") for path, content in files.items()}
    found: set[str] = set()
    for finding in findings:
        named = {path for path in files if re.search(rf"(?<![\w/]){re.escape(path)}(?![\w/])", finding.text)}
        found |= {path for path in named if _shows(finding.text, texts[path])}
        if not is_about(finding.text, texts):
            continue
        parts = _PARTS.get(finding.code.partition("/")[0], ())
        found |= named | {path for path in files if parts and path.startswith(parts)}
    return frozenset(found)


def is_about(text: str, texts: Mapping[str, str]) -> bool:
    """Whether a finding is about this folder: it quotes something, and what it quotes is there.

    Args:
        text: The finding's text.
        texts: The files of the folder by their paths.
    """
    quoted = [name in texts or _is_in(name, texts) for name in sorted(_names(text))]
    quoted += [_has_unit(step, unit, texts) for step, unit in sorted(set(_UNIT.findall(text)))]
    # A line may be put together when the script runs: one that is not in a file speaks neither for nor against.
    lines = [True for line in _lines(text) if _is_in(line, texts)]
    known = [*quoted, *lines]
    return bool(known) and sum(known) >= _LEAST_FOUND * len(known)


def _names(text: str) -> set[str]:
    """Paths and hosts that the text names, but for those that every task has."""
    return {match[0] for pattern in (_PATH, _HOST) for match in pattern.finditer(text)} - _IN_EVERY_TASK


def _lines(text: str) -> set[str]:
    """Lines that the text quotes, but for those with test units, and those that stand in every task."""
    found = {match[1].strip() for pattern in _LINES for match in pattern.finditer(text)}
    return {line for line in found if not _UNIT.search(line) and not _is_in(line, _harness())}


@cache
def _harness() -> Mapping[str, str]:
    return {
        f"{kind} {path}": file.content.decode()
        for kind in ("binary", "fraction")
        for path, file in library.harness(kind).items()
    }


def _is_in(wanted: str, texts: Mapping[str, str]) -> bool:
    return any(wanted in text for text in texts.values())


def _has_unit(step: str, unit: str, texts: Mapping[str, str]) -> bool:
    """Whether the folder has a test unit, the way the author writes them: one file a step, a function a unit."""
    return f"def check_{unit}(" in texts.get(f"tests/checks/{step}.py", "")


def _shows(finding: str, text: str) -> bool:
    """Whether a file that a finding names has what the finding says of it, as far as a look can tell."""
    return any(said.search(finding) and is_so(text) for said, is_so in _CLAIMS)


_CLAIMS: Final[tuple[tuple[re.Pattern[str], Callable[[str], bool]], ...]] = (
    (re.compile(r"CRLF|carriage return", re.IGNORECASE), lambda text: "\r" in text),
    (re.compile(r"\bnot UTF-8\b|\bno text\b", re.IGNORECASE), lambda text: "\ufffd" in text),
)
