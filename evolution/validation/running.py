"""Validates many tasks side by side: what is finished is kept, what failed by our fault is tried again."""

from __future__ import annotations

import asyncio
import hashlib
import time
import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evolution.gates.outcomes import infrastructure
from evolution.gates.panel import judge
from evolution.validation.report import TaskReport
from evolution.verdict import Candidate, VerdictClass
from sandbox.errors import TaskError
from sandbox.verification.metering import metered

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from evolution.journal import CallJournal
    from evolution.validation.suppressions import Suppressions
    from evolution.verdict import Gate, Verdict
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task

KIND = "validation"
CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class Validation:
    """Validates tasks by some gates.

    Attributes:
        sandboxes: Where.
        gates: What a task must pass.
        suppressions: What does not count.
        journal: Remembers finished tasks; `None` validates each anew.
        settings: Says in short with which gates and settings, so that other settings find nothing finished.
        workers: Tasks at once.
        thorough: Ask every gate that has something to say, also after one refused.
        on_start: Told of a task that is begun.
        on_verdict: Told of each verdict, with the task's folder.
    """

    sandboxes: Sandboxes
    gates: tuple[Gate, ...]
    suppressions: Suppressions
    journal: CallJournal | None = None
    settings: str = ""
    workers: int = 4
    thorough: bool = True
    on_start: Callable[[Path], None] | None = None
    on_verdict: Callable[[Path, Verdict], None] | None = None
    _under_way: dict[str, asyncio.Lock] = field(default_factory=dict, init=False)

    async def run(self, folders: Sequence[Path]) -> AsyncIterator[tuple[int, TaskReport]]:
        """Reports with their places in `folders`, each as soon as it is there.

        A task whose sandboxes failed comes last, after it was tried again.
        """
        again: list[int] = []
        async for place, report in self._pass(list(enumerate(folders))):
            if report.verdict_class is VerdictClass.INFRASTRUCTURE:
                again.append(place)
            else:
                yield place, report
        async for place, report in self._pass([(place, folders[place]) for place in sorted(again)]):
            yield place, report

    async def _pass(self, work: Sequence[tuple[int, Path]]) -> AsyncIterator[tuple[int, TaskReport]]:
        slots = asyncio.Semaphore(self.workers)

        async def one(place: int, folder: Path) -> tuple[int, TaskReport]:
            async with slots:
                return place, await self.validate(folder)

        tasks = [asyncio.create_task(one(place, folder)) for place, folder in work]
        try:
            for done in asyncio.as_completed(tasks):
                yield await done
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def validate(self, folder: Path) -> TaskReport:
        """One folder; whatever is wrong with it ends in its report."""
        if self.on_start is not None:
            self.on_start(folder)
        began = time.monotonic()
        task = await asyncio.to_thread(_read, folder)
        if isinstance(task, TaskError):
            return TaskReport(path=folder, task=folder.name, unreadable=str(task), seconds=time.monotonic() - began)
        key = self._key(task)
        async with self._under_way.setdefault(key, asyncio.Lock()):  # the same files may lie in two folders
            known = await self.journal.finished(key) if self.journal else None
            if known is not None:
                report = TaskReport.model_validate_json(known).model_copy(update={"path": folder})
                self.suppressions.note(report.task, report.findings)
                return report
            report = await self._judge(task, folder, began)
            if self.journal and all(v.verdict_class is not VerdictClass.INFRASTRUCTURE for v in report.verdicts):
                await self.journal.record(key, report.model_dump_json(), kind=KIND, seconds=report.seconds)
            return report

    async def _judge(self, task: Task, folder: Path, began: float) -> TaskReport:
        verdicts: tuple[Verdict, ...] = ()
        with metered() as meter:
            try:
                verdicts = await judge(
                    Candidate(task),
                    self.sandboxes,
                    self.gates,
                    on_verdict=lambda verdict: self._told(folder, verdict),
                    thorough=self.thorough,
                    revise=lambda verdict: self.suppressions.revise(task.name, verdict),
                )
            except Exception as error:  # noqa: BLE001 - gates may be anybody's: a crash is ours, and stops no other task
                said = "".join(traceback.format_exception(error)[-6:])
                verdicts = (infrastructure("gates", CRASHED, f"a gate crashed; please report it:\n{said}"),)
        asked = {verdict.gate for verdict in verdicts}
        return TaskReport(
            path=folder,
            task=task.name,
            content_hash=task.content_hash,
            verdicts=verdicts,
            not_asked=tuple(gate.name for gate in self.gates if gate.name not in asked),
            seconds=time.monotonic() - began,
            verifier_seconds=meter.seconds,
        )

    def _told(self, folder: Path, verdict: Verdict) -> None:
        if self.on_verdict is not None:
            self.on_verdict(folder, verdict)

    def _key(self, task: Task) -> str:
        settings = hashlib.sha256(self.settings.encode()).hexdigest()[:16]
        return f"validation/{settings}/{task.content_hash}"


def _read(folder: Path) -> Task | TaskError:
    from sandbox.task import Task

    try:
        return Task.read(folder)
    except TaskError as error:
        return error
