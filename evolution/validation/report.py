"""What validating one task comes to, as a value that is stored, printed and read again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from evolution.verdict import Finding, Verdict, VerdictClass

if TYPE_CHECKING:
    from collections.abc import Sequence

READING = "task/unreadable"
"""Code of a folder that is no task."""


class TaskReport(BaseModel):
    """All gates' words on one task.

    Attributes:
        path: Its folder, as found.
        task: Its name; the folder's where it cannot be read.
        content_hash: Of its files; "" where it cannot be read.
        verdicts: In the order the gates were asked.
        not_asked: Gates that would have had nothing to say: the environment does not build, say.
        unreadable: Why the folder is no task; "" when it is one.
        seconds: Wall-clock seconds.
        verifier_seconds: Of these, seconds in which the task's own `test.sh` ran, summed over all runs: they may have
            run side by side.
        stored: Whether it was kept from an earlier run.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path
    task: str
    content_hash: str = ""
    verdicts: tuple[Verdict, ...] = ()
    not_asked: tuple[str, ...] = ()
    unreadable: str = ""
    seconds: float = 0.0
    verifier_seconds: float = 0.0
    stored: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether no gate was kept from its word by a fault of ours: such a report is kept, another one made anew."""
        return all(verdict.verdict_class is not VerdictClass.INFRASTRUCTURE for verdict in self.verdicts)

    @property
    def verdict_class(self) -> VerdictClass:
        """Whose fault it is when it is not accepted: the environment's before ours, ours before the difficulty's."""
        if self.unreadable:
            return VerdictClass.INVALID
        found = {verdict.verdict_class for verdict in self.verdicts if not verdict.passed}
        for kind in (VerdictClass.INVALID, VerdictClass.INFRASTRUCTURE, VerdictClass.MISCALIBRATED):
            if kind in found:
                return kind
        return VerdictClass.ACCEPTED

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything found, suppressed findings too; a gate that lists none has its verdict as the one finding."""
        if self.unreadable:
            return (Finding(code=READING, message=self.unreadable),)
        return tuple(finding for verdict in self.verdicts for finding in findings_of(verdict))

    def as_json(self) -> dict[str, Any]:
        """As the one line that `--json` prints."""
        document: dict[str, Any] = {
            "task": self.task,
            "path": str(self.path),
            "class": str(self.verdict_class),
            "content_hash": self.content_hash,
            "gates": {verdict.gate: _gate(verdict) for verdict in self.verdicts},
            "not_asked": list(self.not_asked),
            "seconds": round(self.seconds, 3),
            "verifier_seconds": round(self.verifier_seconds, 3),
        }
        return {**document, "error": {"code": READING, "evidence": self.unreadable}} if self.unreadable else document


def findings_of(verdict: Verdict) -> tuple[Finding, ...]:
    """What a verdict found, one by one."""
    if verdict.findings or verdict.passed:
        return verdict.findings
    return (Finding(code=verdict.code, message=verdict.evidence),)


def classes(reports: Sequence[TaskReport]) -> dict[VerdictClass, int]:
    """How many tasks there are of each class."""
    return {kind: sum(report.verdict_class is kind for report in reports) for kind in VerdictClass}


def _gate(verdict: Verdict) -> dict[str, Any]:
    return {
        "passed": verdict.passed,
        "class": str(verdict.verdict_class),
        "code": verdict.code,
        "evidence": verdict.evidence,
        "findings": [finding.model_dump(mode="json") for finding in verdict.findings],
        "measured": verdict.measured,
        "seconds": round(verdict.seconds, 3),
    }
