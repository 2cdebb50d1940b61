"""What the author makes of a finding: which of its files it looks at again.

It knows its own habits only: which part of a task a gate speaks of, and whether what a finding quotes is in its folder
at all. A finding that quotes another task's units, paths or lines tells it nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

TESTS: Final = ("tests/",)
SOLUTION: Final = ("solution/",)
ENVIRONMENT: Final = ("environment/",)
_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "build": (*ENVIRONMENT, *SOLUTION, *TESTS, "task.toml"),
    "leak": (*ENVIRONMENT, "instruction.md"),
    "oracle": (*SOLUTION, *TESTS, *ENVIRONMENT, "task.toml"),
    "noop": (*TESTS, *ENVIRONMENT, "task.toml"),
    "rerun": (*SOLUTION, *TESTS, *ENVIRONMENT),
    "exploit": TESTS,
    "mutation": TESTS,
    "alternative": TESTS,
    "harder": (*SOLUTION, *TESTS),
    "task": ("task.toml", *SOLUTION, *TESTS, *ENVIRONMENT),
}
# What only one task has: its paths below /app, its units, files of its own in the folder.
_SPECIFIC: Final = re.compile(
    r"/app/[\w./-]*\w|\b\w+::[\w:-]+|\b(?:environment|tests|solution)/[\w./-]*\w|(?<=: )[^\n]{24,}"
)
_COMMON: Final = frozenset(
    {"tests/test.sh", "solution/solve.sh", "environment/Dockerfile", "tests/run_checks.py", "/app/out", "/app/data"}
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
        if not is_about(finding.text, texts):
            continue
        parts = _PARTS.get(finding.code.partition("/")[0], ())
        found |= {path for path in files if path.startswith(parts)} if parts else set()
        found |= {path for path in files if path in finding.text}
    return frozenset(found)


def is_about(text: str, texts: Mapping[str, str]) -> bool:
    """Whether a finding can be about this folder: something specific that it quotes is there, or it quotes nothing."""
    quoted = {match[0].strip() for match in _SPECIFIC.finditer(text)} - _COMMON
    if not quoted:
        return True
    return any(each in path or each in content for each in quoted for path, content in texts.items())
