"""Runs checks against a back end and says what came of each."""

from __future__ import annotations

import asyncio
import fnmatch
import os
import shutil
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sandbox.conformance.checks import Check, NotOfferedError, PromiseBrokenError
from sandbox.conformance.stage import TASK_FOLDER, Stage, missing
from sandbox.conformance.subject import Subject
from sandbox.protocol import Capabilities, Image, SandboxBackend
from sandbox.task import Task

Status = Literal["passed", "failed", "not offered"]

_PATIENCE_SECONDS = 240.0
_GRACE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one check.

    Attributes:
        check: Its id.
        status: `not offered` when the back end says that it lacks what the check needs.
        message: Expected, got and what to do; or which capability is missing; "" when passed.
        seconds: How long it took.
    """

    check: str
    status: Status
    message: str = ""
    seconds: float = 0.0


class Conformance:
    """A back end under check, from `open` to `close`.

    Args:
        subject: The back end.
    """

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._backend: SandboxBackend | None = None
        self._capabilities = Capabilities()
        self._image: Image | None = None

    async def open(self) -> None:
        """Makes the back end and builds the image of the built-in task.

        Raises:
            SandboxError: It cannot run here, or does not build the image; the error says why.
            ValueError: A rule of `base` is wrong.
        """
        backend = self._backend = self._subject.make()
        self._capabilities = await backend.capabilities()
        self._image = await backend.build(Task.read(TASK_FOLDER))

    async def run(self, check: Check) -> Outcome:
        """Runs one check; `open` came before."""
        assert self._backend is not None  # noqa: S101 - `open` came before
        assert self._image is not None  # noqa: S101 - likewise
        lacking = missing(check.needs, self._capabilities)
        if lacking:
            return Outcome(check.id, "not offered", f"the back end does not offer {lacking}")
        if check.lacks and not missing(check.lacks, self._capabilities):
            return Outcome(check.id, "not offered", f"about back ends without {', '.join(check.lacks)}")
        started = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="envolve-conformance-") as folder:
            stage = Stage(self._subject, self._backend, self._capabilities, self._image, Path(folder))
            try:
                status, message = await _tried(check, stage)
            finally:
                if not stage.isolated:  # then what is inside may lie on this machine
                    shutil.rmtree(stage.place, ignore_errors=True)
        return Outcome(check.id, status, message, time.perf_counter() - started)

    async def close(self) -> None:
        """Closes the back end."""
        if self._backend is not None:
            await self._backend.close()
        if self._image is not None and self._capabilities.networks == {"host"}:
            with suppress(OSError):  # not empty, or not on this machine
                os.rmdir(self._image.workdir)  # noqa: PTH106


async def run_checks(
    subject: Subject, checks: Sequence[Check], *, told: Callable[[Outcome], None] = lambda _outcome: None
) -> tuple[Outcome, ...]:
    """Runs checks one after another against one back end.

    Args:
        subject: The back end.
        checks: Which, see `sandbox.conformance.checks.all_checks` and `chosen`.
        told: Told of each outcome as it comes.

    Raises:
        SandboxError: The back end cannot run here at all.
        ValueError: A rule of `base` is wrong.
    """
    conformance = Conformance(subject)
    outcomes = []
    try:
        await conformance.open()
        for check in checks:
            outcome = await conformance.run(check)
            told(outcome)
            outcomes.append(outcome)
    finally:
        await conformance.close()
    return tuple(outcomes)


def chosen(checks: Sequence[Check], patterns: Sequence[str]) -> tuple[Check, ...]:
    """The checks whose id matches one of the patterns (`timeouts.*`), or has it as its theme; all without a pattern."""
    if not patterns:
        return tuple(checks)
    return tuple(
        check
        for check in checks
        if any(fnmatch.fnmatchcase(check.id, rule) or check.id.startswith(f"{rule}.") for rule in patterns)
    )


async def _tried(check: Check, stage: Stage) -> tuple[Status, str]:
    """Runs a check in a task of its own: whatever comes out of a foreign back end is an outcome, not our end."""
    trying = asyncio.ensure_future(check.run(stage))
    try:
        done, _ = await asyncio.wait({trying}, timeout=_PATIENCE_SECONDS)
    finally:
        trying.cancel()
    if not done:
        await asyncio.wait({trying}, timeout=_GRACE_SECONDS)
        return "failed", (
            f"expected an end within {_PATIENCE_SECONDS:g} s; got none; a call hangs: run this check alone "
            f"(--only {check.id}) and look at what it waits for"
        )
    error = asyncio.CancelledError("the check was cancelled") if trying.cancelled() else trying.exception()
    match error:
        case None:
            return "passed", ""
        case PromiseBrokenError():
            return "failed", str(error)
        case NotOfferedError():
            return "not offered", str(error)
    where = traceback.extract_tb(error.__traceback__)
    lines = [f"{frame.filename.rpartition('/sandbox/')[2]}:{frame.lineno}" for frame in where[-3:]]
    return "failed", (
        f"expected no error; got {type(error).__name__}: {error} (at {' > '.join(lines)}); "
        "only the errors that the protocol names may come out of a back end"
    )
