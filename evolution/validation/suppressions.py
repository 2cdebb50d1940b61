"""Findings that somebody has looked at and decided to live with, in a file that says why."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evolution.errors import ConfigError
from evolution.gates.outcomes import judged
from evolution.validation.report import findings_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evolution.verdict import Finding, Verdict

EXAMPLE = """
    [[suppress]]
    code = "rubric/clock"
    task = "org/name"           # or a pattern: org/*
    where = "tests/test.sh*"    # optional
    reason = "the date is the subject of the task\""""


class Suppression(BaseModel):
    """One entry of the file.

    Attributes:
        code: A finding's code, or a pattern (`leak/*`).
        task: The task's name, or a pattern.
        where: Where the finding lies, or a pattern; any place when left out.
        reason: Why it does not count; shown with the finding.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: Annotated[str, Field(min_length=1)]
    task: Annotated[str, Field(min_length=1)]
    where: str = "*"
    reason: Annotated[str, Field(min_length=1)]

    def covers(self, task: str, finding: Finding) -> bool:
        """Whether it speaks of this finding."""
        return (
            fnmatchcase(task, self.task)
            and fnmatchcase(finding.code, self.code)
            and fnmatchcase(finding.where, self.where)
        )


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    suppress: tuple[Suppression, ...] = ()


class Suppressions:
    """Applies entries to verdicts, and knows which were of no use.

    Args:
        entries: In the file's order; the first that covers a finding counts.
    """

    def __init__(self, entries: Sequence[Suppression] = ()) -> None:
        self.entries = tuple(entries)
        self._used: set[Suppression] = set()
        self._tasks: set[str] = set()

    @property
    def unused(self) -> tuple[Suppression, ...]:
        """Entries that speak of a task that was seen, and covered nothing so far."""
        return tuple(
            entry
            for entry in self.entries
            if entry not in self._used and any(fnmatchcase(task, entry.task) for task in self._tasks)
        )

    def about(self, task: str) -> tuple[Suppression, ...]:
        """Entries that speak of a task: what its results depend on."""
        return tuple(entry for entry in self.entries if fnmatchcase(task, entry.task))

    def revise(self, task: str, verdict: Verdict) -> Verdict:
        """A verdict without the findings that are suppressed: they stay in it, with the reason, and do not count.

        What is ours (`infrastructure`) cannot be suppressed.
        """
        self._tasks.add(task)
        if verdict.passed or not self.entries or verdict.verdict_class == "infrastructure":
            return verdict
        findings = [self._marked(task, finding) for finding in findings_of(verdict)]
        if not any(finding.suppressed for finding in findings):
            return verdict
        revised = judged(verdict.gate, findings, verdict.measured)
        kept = {"seconds": verdict.seconds} | ({} if revised.passed else {"verdict_class": verdict.verdict_class})
        return revised.model_copy(update=kept)

    def note(self, task: str, findings: Sequence[Finding]) -> None:
        """Counts entries as used that stored findings were suppressed by."""
        self._tasks.add(task)
        for finding in findings:
            if finding.suppressed:
                self._marked(task, finding)

    def _marked(self, task: str, finding: Finding) -> Finding:
        entry = next((entry for entry in self.entries if entry.covers(task, finding)), None)
        if entry is None:
            return finding
        self._used.add(entry)
        return finding.model_copy(update={"suppressed": entry.reason})


def read_suppressions(path: Path) -> Suppressions:
    """Reads a TOML file of `[[suppress]]` tables.

    Raises:
        ConfigError: It cannot be read, or an entry is malformed; says which and shows one.
    """
    try:
        loaded = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as TOML ({error}); an entry looks like this:{EXAMPLE}") from error
    try:
        return Suppressions(_File.model_validate(loaded).suppress)
    except ValidationError as error:
        said = "; ".join(f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors())
        raise ConfigError(f"{path}: {said}; an entry looks like this:{EXAMPLE}") from error
