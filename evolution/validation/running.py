"""Validates many tasks side by side: what is finished is kept, what failed by our fault is tried again."""

from __future__ import annotations

import asyncio
import hashlib
import time
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from evolution.gates.panel import judge
from evolution.validation.report import TaskReport
from evolution.verdict import Candidate
from sandbox.errors import TaskError
from sandbox.verification.metering import metered

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from evolution.journal import CallJournal
    from evolution.validation.suppressions import Suppressions
    from evolution.verdict import Gate, Verdict
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task

KIND = "validation"


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
        on_postponed: Told of a task that is begun once more in the end, as something of ours failed.
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
    on_postponed: Callable[[Path], None] | None = None
    _under_way: dict[str, asyncio.Lock] = field(default_factory=dict, init=False)

    async def run(self, folders: Sequence[Path]) -> AsyncGenerator[tuple[int, TaskReport], None]:
        """Reports with their places in `folders`, each as soon as it is there.

        A task that something of ours failed in comes last, after it was tried again.
        """
        again: list[int] = []
        async with aclosing(self._pass(list(enumerate(folders)))) as first:
            async for place, report in first:
                if report.is_complete:
                    yield place, report
                    continue
                again.append(place)
                if self.on_postponed is not None:
                    self.on_postponed(folders[place])
        async with aclosing(self._pass([(place, folders[place]) for place in sorted(again)])) as second:
            async for place, report in second:
                yield place, report

    async def _pass(self, work: Sequence[tuple[int, Path]]) -> AsyncGenerator[tuple[int, TaskReport], None]:
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
        if isinstance(task, str):
            name = folder.name or Path.cwd().name
            return TaskReport(path=folder, task=name, unreadable=task, seconds=time.monotonic() - began)
        key = self._key(task)
        async with self._under_way.setdefault(key, asyncio.Lock()):  # the same files may lie in two folders
            known = await self.journal.finished(key) if self.journal else None
            if known is not None:
                report = TaskReport.model_validate_json(known).model_copy(update={"path": folder, "stored": True})
                self.suppressions.note(report.task, report.findings)
                return report
            report = await self._judge(task, folder, began)
            if self.journal and report.is_complete:
                await self.journal.record(key, report.model_dump_json(), kind=KIND, seconds=report.seconds)
            return report

    async def _judge(self, task: Task, folder: Path, began: float) -> TaskReport:
        with metered() as meter:
            verdicts = await judge(
                Candidate(task),
                self.sandboxes,
                self.gates,
                on_verdict=lambda verdict: self._told(folder, verdict),
                thorough=self.thorough,
                revise=lambda verdict: self.suppressions.revise(task.name, verdict),
            )
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
        """Where the result is kept: the name is in it, as a folder gives it to a task that has none."""
        suppressed = [entry.model_dump_json(exclude={"reason"}) for entry in self.suppressions.about(task.name)]
        asked = hashlib.sha256("\n".join([self.settings, task.name, *suppressed]).encode("utf-8", "surrogateescape"))
        return f"{KIND}/{asked.hexdigest()[:16]}/{task.content_hash}"


def _read(folder: Path) -> Task | str:
    """The task, or why there is none."""
    from sandbox.task import Task

    try:
        task = Task.read(folder)
        _ = task.content_hash  # reads every file
    except (TaskError, OSError) as error:
        return str(error)
    return task
