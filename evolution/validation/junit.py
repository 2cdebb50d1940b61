"""Validation's results as JUnit XML, which CI systems show: a suite for each task, a case for each gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from evolution.gates.outcomes import shown_safely
from evolution.validation.report import READING
from evolution.verdict import VerdictClass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evolution.validation.report import TaskReport
    from evolution.verdict import Verdict


def write_junit(reports: Sequence[TaskReport], path: Path) -> None:
    """Writes the file: what a task is refused for is a failure, what is ours an error, a gate not asked is skipped.

    Raises:
        OSError: It cannot be written.
    """
    document = JUnitXml("envolve.validate")
    for report in reports:
        document.add_testsuite(_suite(report))
    document.update_statistics()  # type: ignore[no-untyped-call]
    aside = path.with_name(f".{path.name}.partial")
    document.write(str(aside), pretty=True)
    aside.replace(path)


def _suite(report: TaskReport) -> TestSuite:
    suite = TestSuite(shown_safely(report.task))
    if report.unreadable:
        case = TestCase("task", classname=suite.name, time=round(report.seconds, 3))
        case.result = [_with_text(Failure(READING, READING), report.unreadable)]
        suite.add_testcase(case)
    for verdict in report.verdicts:
        case = TestCase(shown_safely(verdict.gate), classname=suite.name, time=round(verdict.seconds, 3))
        if not verdict.passed:
            case.result = [_result(verdict)]
        suppressed = [f"suppressed {one.code}: {one.suppressed}" for one in verdict.findings if one.suppressed]
        if suppressed:
            case.system_out = shown_safely("\n".join(suppressed))
        suite.add_testcase(case)
    for gate in report.not_asked:
        case = TestCase(shown_safely(gate), classname=suite.name, time=0)
        case.result = [Skipped("not asked: an earlier gate left it nothing to say")]
        suite.add_testcase(case)
    return suite


def _result(verdict: Verdict) -> Error | Failure:
    kind = Error if verdict.verdict_class is VerdictClass.INFRASTRUCTURE else Failure
    code = shown_safely(verdict.code)
    return _with_text(kind(code, code), verdict.evidence)


def _with_text(result: Error | Failure, text: str) -> Error | Failure:
    result.text = shown_safely(text)
    return result
