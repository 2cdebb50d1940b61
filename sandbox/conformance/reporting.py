"""What came of the checks, for people, for programs (JSON) and for continuous integration (JUnit XML)."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sandbox.conformance.checks import Check
    from sandbox.conformance.running import Outcome

_SIGNS = {"passed": "ok         ", "failed": "FAILED     ", "not offered": "not offered"}


def line(outcome: Outcome, *, width: int) -> str:
    """One outcome as a line, with its message below it where there is one."""
    head = f"{_SIGNS[outcome.status]} {outcome.check:{width}}"
    match outcome.status:
        case "passed":
            return f"{head} {outcome.seconds:6.1f} s"
        case "not offered":
            return f"{head}  {outcome.message}"
        case _:
            return f"{head} {outcome.seconds:6.1f} s\n            " + outcome.message.replace("\n", "\n            ")


def summary(name: str, outcomes: Sequence[Outcome]) -> str:
    """One sentence about all of them."""
    counts = Counter(outcome.status for outcome in outcomes)
    told = f"{counts['passed']} passed, {counts['failed']} failed, {counts['not offered']} not offered"
    verdict = "keeps the contract" if conforms(outcomes) else "does not keep the contract"
    return f"{name} {verdict}: {told}"


def conforms(outcomes: Sequence[Outcome]) -> bool:
    """Whether no check failed."""
    return all(outcome.status != "failed" for outcome in outcomes)


def as_json(name: str, checks: Sequence[Check], outcomes: Sequence[Outcome]) -> str:
    """All of it as one JSON object."""
    promises = {check.id: check.promise for check in checks}
    rows = [{**asdict(outcome), "promise": promises[outcome.check]} for outcome in outcomes]
    return json.dumps({"backend": name, "conforms": conforms(outcomes), "checks": rows}, indent=2)


def write_junit(path: Path, name: str, checks: Sequence[Check], outcomes: Sequence[Outcome]) -> None:
    """Writes a JUnit file: a test suite of the back end's name, what is not offered as skipped.

    Raises:
        OSError: It cannot be written.
    """
    promises = {check.id: check.promise for check in checks}
    counts = Counter(outcome.status for outcome in outcomes)
    suite = ET.Element(
        "testsuite",
        name=f"sandbox.check {name}",
        tests=str(len(outcomes)),
        failures=str(counts["failed"]),
        skipped=str(counts["not offered"]),
        errors="0",
        time=f"{sum(outcome.seconds for outcome in outcomes):.3f}",
    )
    for outcome in outcomes:
        theme, _, check = outcome.check.partition(".")
        case = ET.SubElement(suite, "testcase", classname=f"{name}.{theme}", name=check, time=f"{outcome.seconds:.3f}")
        if outcome.status != "passed":
            kind = "failure" if outcome.status == "failed" else "skipped"
            message = _printable(outcome.message)
            ET.SubElement(case, kind, message=message).text = _printable(promises[outcome.check])
    ET.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def _printable(text: str) -> str:
    """XML has no way to write most control characters."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "\ufffd" for sign in text)
