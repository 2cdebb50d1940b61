"""Reads what failing scripts print: a command that is not there, a path that may not be written, time that was up."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from evolution.gates.outcomes import repeatable, tail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.protocol import Sandbox
    from sandbox.trial.result import StepResult, TrialResult

MAX_SHOWN: Final = 5
MAX_PATH: Final = 4096
"""Bytes of a path that the kernel takes; what a program prints in quotes may be anything."""

_MISSING: Final = (
    re.compile(r"(?:^|[:\s])(?P<name>[\w./+-]+): command not found\s*$", re.MULTILINE),
    re.compile(r": (?:line )?\d+: (?P<name>[\w./+-]+): not found\s*$", re.MULTILINE),
    re.compile(r"env: [‘'\"`]?(?P<name>[\w./+-]+)[’'\"`]?: No such file or directory"),
    re.compile(r"(?<![\w./+-])(?P<name>/[\w./+-]+): bad interpreter"),
    re.compile(r"FileNotFoundError: \[Errno 2\] No such file or directory: '(?P<name>[\w+-]+)'$", re.MULTILINE),
)
_MODULE: Final = re.compile(r"ModuleNotFoundError: No module named '(?P<name>[\w.]+)'")
_DENIED: Final = re.compile(r"^.*(?:Permission denied|Operation not permitted|Read-only file system).*$", re.MULTILINE)
_QUOTED: Final = re.compile(r"[‘'\"`]([^‘’'\"`]+)[’'\"`]")
_BEFORE: Final = re.compile(r"(?:^|: )(?:line \d+: )?([^:]+): (?:Permission denied|Operation not permitted|Read-only)")
_STAT: Final = (
    'for path in "$@"; do while [ -n "$path" ] && [ "$path" != / ]; do '
    'if [ -e "$path" ] || [ -L "$path" ]; then stat -c "%A %U:%G %n" -- "$path"; break; fi; path=${path%/*}; done; done'
)


def said_by(result: TrialResult) -> Iterator[tuple[str, str]]:
    """Who printed what in a trial: ("the solution", its output), ("the verifier", …), step by step."""
    for step in result.steps:
        of = "" if step.name == "main" else f" of step {step.name}"
        if step.solution is not None:
            yield f"the solution{of}", f"{step.solution.stdout}\n{step.solution.stderr}"
        if step.verification is not None:
            yield f"the verifier{of}", f"{step.verification.stdout}\n{step.verification.stderr}"


def missing_commands(result: TrialResult) -> str:
    """The commands and Python modules that somebody called in vain, one a line; "" when there are none."""
    found: dict[str, None] = {}
    for who, text in said_by(result):
        for pattern in _MISSING:
            found.update((f"  {match['name']}: not there for {who}", None) for match in pattern.finditer(text))
        modules = _MODULE.finditer(text)
        found.update((f"  {match['name']} (a Python module): not there for {who}", None) for match in modules)
    return "\n".join(list(found)[:MAX_SHOWN])


async def denied(result: TrialResult, sandbox: Sandbox, workdir: str) -> str:
    """The lines that tell of a lack of permission, with mode and owner of the paths in them; "" when there are none."""
    lines = [line.strip() for _, text in said_by(result) for line in _DENIED.findall(text)][:MAX_SHOWN]
    if not lines:
        return ""
    paths = dict.fromkeys(posixpath.join(workdir, path) for line in lines if (path := _path_in(line)))
    looked = await sandbox.exec(["bash", "-c", _STAT, "stat", *paths], user=0, timeout=30) if paths else None
    modes = [f"  {line}" for line in dict.fromkeys(looked.text.splitlines())] if looked is not None else []
    shown = [f"  {repeatable(line)}" for line in lines]
    return "\n".join([*shown, *(["mode and owner of what is there:", *modes] if modes else [])])


def timed_out(result: TrialResult) -> str:
    """Who was stopped because the time was up, with the end of what it had printed; "" when nobody was."""
    for step in result.steps:
        of = "" if step.name == "main" else f" of step {step.name}"
        if step.solution is not None and step.solution.timed_out:
            printed = step.solution.stderr.strip() or step.solution.stdout
            return _stopped(f"the solution{of} was stopped: its time ([agent] timeout_sec) was up", printed)
        if step.verification is not None and step.verification.error_code == "timeout":
            printed = step.verification.stderr.strip() or step.verification.stdout
            return _stopped(f"the verifier{of} was stopped: its time ([verifier] timeout_sec) was up", printed)
    return ""


def printed_by_tests(result: TrialResult) -> str:
    """The end of what the last verifier printed, where units failed: `account` gives only their messages then."""
    last: StepResult | None = result.steps[-1] if result.steps else None
    if last is None or last.verification is None or all(unit.passed for unit in last.verification.units):
        return ""
    printed = last.verification.stdout.strip() or last.verification.stderr
    return f"\nend of the verifier's output:\n{tail(printed)}" if printed.strip() else ""


def _stopped(said: str, printed: str) -> str:
    if not printed.strip():
        return f"{said}; it had printed nothing"
    return f"{said}; the end of what it had printed:\n{tail(printed)}"


def _path_in(line: str) -> str:
    """The path that a line of an error names last: a quoted one, else what stands before the reason."""
    quoted = [path for path in _QUOTED.findall(line) if path.strip()]
    before = _BEFORE.search(line) if not quoted else None
    path = str(quoted[-1]) if quoted else (before[1].strip() if before else "")
    return path if "\0" not in path and len(path.encode("utf-8", "replace")) < MAX_PATH else ""
