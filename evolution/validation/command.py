"""The job behind `python -m evolution.validate`, done: from the lock on its folder to what is printed in the end."""

from __future__ import annotations

import asyncio
import itertools
import json
import signal
import sys
import time
from contextlib import aclosing, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from evolution.errors import ConfigError, RunLockedError
from evolution.gates.registry import gate_class, make_gates
from evolution.gates.roles import Roles
from evolution.journal import Journal
from evolution.validation.closing import exit_code, summary_lines, task_lines
from evolution.validation.identity import identity
from evolution.validation.running import Validation
from evolution.validation.showing import shown
from sandbox.backends import load_backend
from sandbox.errors import SandboxUnavailableError
from sandbox.sandboxes import Sandboxes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from evolution.validation.job import Job
    from evolution.validation.report import TaskReport
    from evolution.verdict import Gate
    from sandbox.protocol import SandboxBackend

JOURNAL = "validation.db"
MODELS = "models.db"
"""Journal of finished model calls, where there are models; see `graphs.validation`."""


def run(job: Job, roles_for: Callable[[Job], AbstractContextManager[Roles]] | None = None) -> int:
    """Does it; returns the exit code.

    Args:
        job: What was asked.
        roles_for: Opens those who give judgement, once the folder is this process's own; nobody when left out.

    Raises:
        EvolutionError: It cannot be started: a gate, the back end, the folder.
        asyncio.CancelledError: It was interrupted; what finished is kept.
    """
    backend = _backend(job)
    for name in job.gates:
        gate_class(name)  # a slip of the pen is told before anything is touched
    began = time.monotonic()
    with _folder(job) as journal, roles_for(job) if roles_for else nullcontext(Roles()) as roles:
        gates = make_gates(job.gates, job.settings, roles)
        names = [gate.name for gate in gates]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ConfigError(f"--gates: two of them are called {twice!r}: leave one out")
        reports = asyncio.run(_validated(job, gates, backend, journal))
    _tell(job, reports, time.monotonic() - began)
    return exit_code(reports)


def _backend(job: Job) -> SandboxBackend:
    try:
        return load_backend(job.sandbox, base=job.base)
    except SandboxUnavailableError as error:
        raise ConfigError(f"--sandbox {job.sandbox}: {error}") from error
    except ValueError as error:
        raise ConfigError(f"--base: {error}") from error


def _tell(job: Job, reports: Sequence[TaskReport], seconds: float) -> None:
    """Text and JUnit; standard output is left to the lines of JSON where they are wanted."""
    out = sys.stderr if job.as_json else sys.stdout
    if not job.as_json:
        for report in reports:
            for line in task_lines(report):
                print(line, file=out)
    for line in summary_lines(reports, job.suppressions, seconds):
        print(line, file=out)
    if job.junit is not None:
        from evolution.validation.junit import write_junit

        try:
            write_junit(reports, job.junit)
        except OSError as error:
            raise ConfigError(f"--junit {job.junit}: {error.strerror}; the same command writes it anew") from error


async def _validated(
    job: Job, gates: Sequence[Gate], backend: SandboxBackend, journal: Journal
) -> tuple[TaskReport, ...]:
    main = asyncio.current_task()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, lambda: main.cancel() if main is not None else None)
    found: dict[int, TaskReport] = {}
    printed = 0
    try:
        await _ready(job, backend)
        live = False if job.as_json and sys.stdout.isatty() else job.live
        with shown(len(job.tasks), live=live, quiet=job.quiet) as screen:
            validation = Validation(
                Sandboxes(backend, concurrency=job.sandboxes, network=job.network),
                tuple(gates),
                job.suppressions,
                journal,
                settings=identity(job),
                workers=job.workers,
                thorough=job.thorough,
                on_start=screen.started,
                on_verdict=screen.verdict,
                on_postponed=screen.postponed,
            )
            async with aclosing(validation.run(job.tasks)) as reports:
                async for place, report in reports:
                    found[place] = report
                    screen.finished(report)
                    while job.as_json and printed in found:  # in order, each as soon as those before it are there
                        _print_json(found[printed].as_json())
                        printed += 1
    finally:
        await backend.close()
    return tuple(found[place] for place in range(len(job.tasks)))


async def _ready(job: Job, backend: SandboxBackend) -> None:
    """Asks whether the back end runs here at all, and sweeps what a killed run left of it."""
    try:
        await backend.capabilities()
        await backend.sweep()
    except SandboxUnavailableError as error:
        raise ConfigError(f"--sandbox {job.sandbox}: {error}") from error


def _print_json(document: dict[str, Any]) -> None:
    """One line of ASCII, whatever is in it: some programs end lines at other characters, some terminals obey them."""
    print(json.dumps(document), flush=True)


@contextmanager
def _folder(job: Job) -> Iterator[Journal]:
    """The journal in the folder of results, locked for the length of a `with` block."""
    lock = FileLock(job.out / ".lock", timeout=0)
    try:
        job.out.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise RunLockedError(f"another process validates into {job.out}: wait for it, or give another --out") from error
    except OSError as error:
        raise ConfigError(f"--out {job.out}: {error.strerror}") from error
    try:
        if job.fresh:
            _put_aside(job.out)
        with Journal(job.out / JOURNAL) as journal:
            yield journal
    finally:
        lock.release()


def _put_aside(folder: Path) -> None:
    """Moves what is kept there to `old-1`, `old-2`, …: nothing that was paid for is deleted."""
    files = [folder / f"{name}{suffix}" for name in (JOURNAL, MODELS) for suffix in ("", "-wal", "-shm")]
    files = [file for file in files if file.exists()]
    if files:
        target = next(place for n in itertools.count(1) if not (place := folder / f"old-{n}").exists())
        target.mkdir()
        for file in files:
            file.rename(target / file.name)
