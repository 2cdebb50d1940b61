"""What validation says in the end: what was found, task by task, and a summary by class, gate and code."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from evolution.gates.outcomes import shown_safely
from evolution.progress import one_line
from evolution.validation.report import classes
from evolution.verdict import VerdictClass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evolution.validation.report import TaskReport
    from evolution.validation.suppressions import Suppressions

ALL_ACCEPTED, REFUSED, NOT_JUDGED = 0, 1, 3
"""Exit codes; 2 is wrong use and 130 an interruption."""


def exit_code(reports: Sequence[TaskReport]) -> int:
    """1 when a task was refused, else 3 when one could not be judged, else 0."""
    found = {report.verdict_class for report in reports}
    if found & {VerdictClass.INVALID, VerdictClass.MISCALIBRATED}:
        return REFUSED
    return NOT_JUDGED if VerdictClass.INFRASTRUCTURE in found else ALL_ACCEPTED


def task_lines(report: TaskReport) -> Iterator[str]:
    """A task that was refused, with the evidence; what is suppressed, in a line each."""
    counting = [finding for finding in report.findings if not finding.suppressed]
    if counting:
        yield one_line(f"{report.task}: {report.verdict_class}   ({report.path})")
        for finding in counting:
            where = f" ({finding.where})" if finding.where else ""
            yield f"  {one_line(finding.code + where)}"
            yield from (f"    {line}" for line in shown_safely(finding.message).splitlines())
        if report.not_asked:
            yield f"  not asked, as the above leaves nothing to say: {', '.join(report.not_asked)}"
    for finding in report.findings:
        if finding.suppressed:
            yield one_line(f"{report.task}: suppressed {finding.code}: {finding.suppressed}")


def summary_lines(reports: Sequence[TaskReport], suppressions: Suppressions, seconds: float) -> Iterator[str]:
    """The summary of all.

    Args:
        reports: Of every task.
        suppressions: Says which of its entries were of no use.
        seconds: Wall-clock seconds of the run.
    """
    counts = classes(reports)
    said = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count) or "none"
    verifiers = sum(report.verifier_seconds for report in reports if not report.stored)
    stored = sum(report.stored for report in reports)
    kept = f"; {stored} kept from an earlier run" if stored else ""
    tasks = "1 task" if len(reports) == 1 else f"{len(reports)} tasks"
    yield f"{tasks} in {seconds:.1f} s{kept}; their own tests ran {verifiers:.1f} s, side by side: {said}"
    codes = Counter(
        code
        for report in reports
        for code in dict.fromkeys(finding.code for finding in report.findings if not finding.suppressed)
    )
    if codes:
        width = max(map(len, codes))
        yield "tasks by finding:"
        yield from (f"  {code:{width}}  {count}" for code, count in sorted(codes.items(), key=lambda c: (-c[1], c[0])))
    for entry in suppressions.unused:
        where = "" if entry.where == "*" else f" at {entry.where}"
        yield one_line(f"warning: the suppression of {entry.code} for {entry.task}{where} covers nothing: take it out")
