"""How gates say what they found: verdicts with stable codes, and evidence that is the same on every machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evolution.verdict import Finding, Verdict, VerdictClass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sandbox.trial.result import TrialResult
    from sandbox.verification.ctrf import Unit

TAIL_LINES = 12
MAX_LINE = 240
MAX_EVIDENCE = 6000
MAX_UNITS_SHOWN = 12
MAX_FINDINGS_SHOWN = 10
MAX_FINDINGS = 200

# What differs between two runs of one command: process ids, clock times, addresses, random names of temporary files.
_VARYING = (
    (re.compile(r"(?<=: line )(\d+): +\d+ (?=[A-Z][a-z]+)"), r"\1: <pid> "),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"), "<time>"),
    (re.compile(r"\b(?:in )?\d+\.\d+ ?s(?:ec(?:onds)?)?\b"), "<seconds>"),
    (re.compile(r"\b0x[0-9a-fA-F]{6,}\b"), "<address>"),
    (re.compile(r"/tmp/[\w.-]+"), "/tmp/<name>"),  # noqa: S108 - a pattern, nothing is written there
    (re.compile(r"\b(pid|PID)([ =:]+)\d+"), r"\1\2<pid>"),
)
# Controls but tab and newline, and the escape sequences a terminal would obey.
_UNSHOWABLE = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]"
)


def accepted(gate: str, measured: Mapping[str, float] | None = None) -> Verdict:
    """The candidate may go on."""
    return Verdict(gate=gate, passed=True, verdict_class=VerdictClass.ACCEPTED, measured=dict(measured or {}))


def invalid(gate: str, what: str, evidence: str, measured: Mapping[str, float] | None = None) -> Verdict:
    """The environment's fault; `what` is the part of the code after the gate's name."""
    return _refused(gate, VerdictClass.INVALID, what, evidence, measured)


def miscalibrated(gate: str, what: str, evidence: str, measured: Mapping[str, float] | None = None) -> Verdict:
    """Sound, but not of the right difficulty."""
    return _refused(gate, VerdictClass.MISCALIBRATED, what, evidence, measured)


def judged(gate: str, findings: Sequence[Finding], measured: Mapping[str, float] | None = None) -> Verdict:
    """Accepted when no finding counts; else invalid, by the code of the first one, quoting those that count.

    So many as a task may have are not all kept: those that count come first, and what is left out is told.
    """
    counting = [finding for finding in findings if not finding.suppressed]
    kept = tuple([*counting, *(finding for finding in findings if finding.suppressed)][:MAX_FINDINGS])
    if len(findings) <= MAX_FINDINGS:
        kept = tuple(findings)
    if not counting:
        return accepted(gate, measured).model_copy(update={"findings": kept})
    shown = [f"[{finding.code}] {finding.message}" for finding in counting[:MAX_FINDINGS_SHOWN]]
    more = len(counting) - MAX_FINDINGS_SHOWN
    evidence = "\n".join(shown + ([f"and {more} more"] if more > 0 else []))
    verdict = invalid(gate, counting[0].code.removeprefix(f"{gate}/"), evidence, measured)
    return verdict.model_copy(update={"findings": kept})


def finding(gate: str, what: str, message: str, where: str = "") -> Finding:
    """One finding of a gate; the message is cut where it is enormous, and holds nothing that a terminal obeys."""
    return Finding(code=f"{gate}/{what}", message=_cut(shown_safely(message)), where=shown_safely(where))


def infrastructure(gate: str, what: str, evidence: str) -> Verdict:
    """Our fault or this machine's, never the environment's."""
    return _refused(gate, VerdictClass.INFRASTRUCTURE, what, evidence)


def shown_safely(text: str) -> str:
    """`text` without what a terminal would obey or XML cannot hold; surrogates are replaced."""
    return _UNSHOWABLE.sub("", text.encode("utf-8", "replace").decode("utf-8"))


def repeatable(text: str) -> str:
    """`text` without what differs from run to run and what a terminal would obey; surrogates are replaced."""
    shown = shown_safely(text)
    for pattern, instead in _VARYING:
        shown = pattern.sub(instead, shown)
    return shown


def tail(text: str, *, lines: int = TAIL_LINES) -> str:
    """The last lines of some output, indented, long lines cut."""
    kept = [line for line in repeatable(text).splitlines() if line.strip()][-lines:]
    return "\n".join(f"  {line if len(line) <= MAX_LINE else line[:MAX_LINE] + '…'}" for line in kept)


def listed(units: Iterable[Unit]) -> str:
    """Units with status and message, one a line, indented."""
    shown = [f"  {u.name}: {u.status}" + (f" - {repeatable(u.message)[:MAX_LINE]}" if u.message else "") for u in units]
    more = len(shown) - MAX_UNITS_SHOWN
    return "\n".join(shown[:MAX_UNITS_SHOWN] + ([f"  and {more} more"] if more > 0 else []))


def account(result: TrialResult) -> str:
    """What a person wants to know of a trial that went wrong: reward, units that did not pass, ends of the outputs."""
    parts = [_reward_line(result)]
    not_passed = [unit for unit in result.units if not unit.passed]
    if not_passed:
        parts.append(f"test units that did not pass:\n{listed(not_passed)}")
    for step in result.steps:
        of = "" if step.name == "main" else f" of step {step.name}"
        if step.solution is not None and step.solution.timed_out:
            parts.append(f"the solution{of} was stopped: its time ([agent] timeout_sec) was up")
        elif step.solution is not None and step.solution.exit_code:
            parts.append(f"the solution{of} ended with status {step.solution.exit_code}")
        if step.solution is not None and step.solution.stderr.strip():
            parts.append(f"end of the solution's standard error{of}:\n{tail(step.solution.stderr)}")
        if step.verification is not None and (not not_passed or step.verification.error_code):
            output = step.verification.stderr.strip() or step.verification.stdout
            if output.strip():
                parts.append(f"end of the verifier's output{of}:\n{tail(output)}")
    return "\n".join(parts)


def _reward_line(result: TrialResult) -> str:
    if result.score is None:
        return f"no reward ({result.error_code}): {repeatable(result.error)}"
    keys = result.reward.rewards if result.reward else {}
    more = f" of {dict(sorted(keys.items()))}" if len(keys) > 1 else ""
    return f"reward {result.score:g}{more}"


def _refused(
    gate: str, kind: VerdictClass, what: str, evidence: str, measured: Mapping[str, float] | None = None
) -> Verdict:
    return Verdict(
        gate=gate,
        passed=False,
        verdict_class=kind,
        code=f"{gate}/{what}",
        evidence=_cut(shown_safely(evidence)),
        measured=dict(measured or {}),
    )


def _cut(evidence: str) -> str:
    return evidence if len(evidence) <= MAX_EVIDENCE else f"{evidence[:MAX_EVIDENCE]}\n(cut)"
