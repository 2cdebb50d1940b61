"""The job behind `python -m evolution.validate`: what it was asked, and doing it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from filelock import FileLock, Timeout

from evolution.errors import ConfigError, RunLockedError
from evolution.gates.registry import BUILT_IN, gate_class, make_gates
from evolution.gates.roles import Roles
from evolution.intake import find_tasks
from evolution.journal import Journal
from evolution.validation.closing import exit_code, summary_lines, task_lines
from evolution.validation.report import READING, TaskReport
from evolution.validation.running import Validation
from evolution.validation.showing import shown
from evolution.validation.suppressions import Suppressions, read_suppressions
from sandbox.backends import load_backend
from sandbox.errors import SandboxUnavailableError
from sandbox.sandboxes import Sandboxes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evolution.gates.settings import GateSettings
    from sandbox.protocol import SandboxBackend
    from sandbox.trial.network import NetworkChoice

JOURNAL = "validation.db"
FORMAT = 1
"""Raised when gates change what they say, so that older results are not taken for today's."""
ROLES = ("solver", "judge", "attacker", "author")
NEEDS = {"rubric-judge": "judge", "calibration": "solver"}
"""Gates that are asked only where their role is there."""


@dataclass(frozen=True, slots=True)
class Job:
    """What the command was asked to do.

    Attributes:
        tasks: Task folders, in order.
        settings: The gates' numbers and files.
        gates: Names of the gates, in the order they are asked.
        models: Model string, or `module:Class`, by role; without those that no gate needs.
        api_base: Address of a server for the models.
        budget_usd: Dollars they may cost.
        sandbox: Back end.
        base: What `FROM` stands for.
        network: Which network tasks get.
        workers: Tasks at once.
        sandboxes: Sandboxes alive at once.
        out: Where results are kept.
        fresh: Whether what is kept there is validated anew.
        as_json: Whether lines of JSON are printed.
        junit: Where JUnit XML goes.
        live: The live table; `None` decides by whether standard error is a terminal.
        quiet: Whether nothing is shown on the way.
        thorough: Whether a task goes on after a gate refused it.
        suppressions: What does not count.
    """

    tasks: tuple[Path, ...]
    settings: GateSettings
    gates: tuple[str, ...]
    models: Mapping[str, str] = field(default_factory=dict)
    api_base: str | None = None
    budget_usd: float | None = None
    sandbox: str = "bubblewrap"
    base: tuple[str, ...] = ()
    network: NetworkChoice = "task"
    workers: int = 4
    sandboxes: int = 8
    out: Path = Path("runs/validation")
    fresh: bool = False
    as_json: bool = False
    junit: Path | None = None
    live: bool | None = None
    quiet: bool = False
    thorough: bool = True
    suppressions: Suppressions = field(default_factory=Suppressions)

    @classmethod
    def of(cls, given: Mapping[str, Any], settings: GateSettings) -> Self:
        """From the command line's values, those not given left out.

        Raises:
            ConfigError: One is wrong.
        """
        cores = os.cpu_count() or 1
        models = {
            role: str(given.get(role) or given["model"]) for role in ROLES if given.get(role) or given.get("model")
        }
        gates = _chosen(given, settings, models)
        sandbox = str(given.get("sandbox", "bubblewrap"))
        for name in ("workers", "sandboxes"):
            if given.get(name, 1) < 1:
                raise ConfigError(f"--{name}: {given[name]}, expected 1 or more")
        suppressions = read_suppressions(given["suppressions"]) if "suppressions" in given else Suppressions()
        workers = given.get("workers", 2 * cores)
        return cls(
            tasks=tuple(find_tasks(tuple(given["tasks"]))),
            settings=settings,
            gates=gates,
            models={role: model for role, model in models.items() if _needs(role, gates)},
            api_base=given.get("api_base"),
            budget_usd=given.get("budget_usd"),
            sandbox=sandbox,
            base=tuple(given.get("base", ("*=host",) if sandbox == "bubblewrap" else ())),
            network=given.get("network", "task"),
            workers=workers,
            sandboxes=given.get("sandboxes", max(workers, 4 * cores)),
            out=given.get("out", cls.__dataclass_fields__["out"].default),
            fresh=bool(given.get("fresh")),
            as_json=bool(given.get("json")),
            junit=given.get("junit"),
            live=False if given.get("plain") else None,
            quiet=bool(given.get("quiet")),
            thorough=not given.get("fail_fast"),
            suppressions=suppressions,
        )

    def key(self) -> str:
        """All that results depend on, beside the tasks themselves."""
        return json.dumps(
            {
                "format": FORMAT,
                "gates": self.gates,
                "settings": self.settings.model_dump(mode="json"),
                "models": dict(self.models),
                "sandbox": self.sandbox,
                "base": self.base,
                "network": self.network,
                "thorough": self.thorough,
                "suppressions": [entry.model_dump() for entry in self.suppressions.entries],
            },
            sort_keys=True,
        )


def _chosen(given: Mapping[str, Any], settings: GateSettings, models: Mapping[str, str]) -> tuple[str, ...]:
    """The gates as asked; else all that need no parent and no role that is not there."""
    skipped = given.get("skip", ())
    unknown = [name for name in skipped if name not in BUILT_IN and ":" not in name]
    if unknown:
        raise ConfigError(f"--skip {unknown[0]}: no such gate; there are {', '.join(BUILT_IN)}")
    if "gates" in given:
        chosen = list(dict.fromkeys(given["gates"]))
    else:
        chosen = [name for name in BUILT_IN if name != "harder" and (name not in NEEDS or NEEDS[name] in models)]
        if not settings.held_out:
            chosen.remove("overlap")
    left = tuple(name for name in chosen if name not in skipped)
    if not left:
        raise ConfigError("--skip leaves no gate to ask")
    return left


def _needs(role: str, gates: Sequence[str]) -> bool:
    wanted = {"solver": "calibration", "judge": "rubric-judge", "attacker": "exploit", "author": "alternative"}
    return wanted[role] in gates


def run(job: Job, roles: Roles | None = None) -> int:
    """Does it; returns the exit code.

    Raises:
        EvolutionError: It cannot be started: a gate, the back end, the folder.
        asyncio.CancelledError: It was interrupted; what finished is kept.
    """
    gates = make_gates(job.gates, job.settings, roles or Roles())
    try:
        backend = load_backend(job.sandbox, base=job.base)
    except SandboxUnavailableError as error:
        raise ConfigError(f"--sandbox {job.sandbox}: {error}") from error
    except ValueError as error:
        raise ConfigError(str(error)) from error
    began = time.monotonic()
    with _folder(job) as journal:
        work = _validated(job, gates, backend, journal)
        reports = asyncio.run(work)
    if job.junit is not None:
        from evolution.validation.junit import write_junit

        try:
            write_junit(reports, job.junit)
        except OSError as error:
            raise ConfigError(f"--junit {job.junit}: {error.strerror}") from error
    out = sys.stderr if job.as_json else sys.stdout
    if not job.as_json:
        for report in reports:
            for line in task_lines(report):
                print(line, file=out)
    for line in summary_lines(reports, job.suppressions, time.monotonic() - began):
        print(line, file=out)
    return exit_code(reports)


async def _validated(
    job: Job, gates: Sequence[Any], backend: SandboxBackend, journal: Journal
) -> tuple[TaskReport, ...]:
    main = asyncio.current_task()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, lambda: main.cancel() if main is not None else None)
    found: dict[int, TaskReport] = {}
    printed = 0
    try:
        await backend.sweep()
        with shown(len(job.tasks), live=job.live, quiet=job.quiet) as screen:
            validation = Validation(
                Sandboxes(backend, concurrency=job.sandboxes, network=job.network),
                tuple(gates),
                job.suppressions,
                journal,
                settings=job.key(),
                workers=job.workers,
                thorough=job.thorough,
                on_start=screen.started,
                on_verdict=screen.verdict,
            )
            async for place, report in validation.run(job.tasks):
                found[place] = report
                screen.finished(report)
                while job.as_json and printed in found:  # in order, each as soon as those before it are there
                    print(json.dumps(found[printed].as_json(), ensure_ascii=False), flush=True)
                    printed += 1
    finally:
        await backend.close()
    return tuple(found[place] for place in range(len(job.tasks)))


@contextmanager
def _folder(job: Job) -> Iterator[Journal]:
    """The journal in the folder of results, locked for the length of a `with` block."""
    try:
        job.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--out {job.out}: {error.strerror}") from error
    try:
        with FileLock(job.out / ".lock", timeout=0):
            if job.fresh:
                for suffix in ("", "-wal", "-shm"):
                    (job.out / f"{JOURNAL}{suffix}").unlink(missing_ok=True)
            with Journal(job.out / JOURNAL) as journal:
                yield journal
    except Timeout as error:
        raise RunLockedError(f"another process validates into {job.out}: wait for it, or give another --out") from error


def code_lines() -> Iterator[str]:
    """Every code that the gates of this package can say, with its meaning."""
    found = {READING: "the folder is no task that can be read"}
    for name in BUILT_IN:
        found |= {f"{name}/{what}": meaning for what, meaning in gate_class(name).codes.items()}
    width = max(map(len, found))
    yield from (f"{code:{width}}  {meaning}" for code, meaning in found.items())
