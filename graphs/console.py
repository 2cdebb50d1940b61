"""The main job as a program: puts the parts together, runs them, and says in the end what came of it."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from evolution.progress import shown
from evolution.run_folder import open_run
from graphs.assembly import assemble, check
from graphs.closing import Closing, closing_lines
from graphs.forecast import forecast_lines, unlimited_models
from sandbox.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evolution.config import RunConfig
    from evolution.progress import Listener
    from evolution.run_folder import RunFolder
    from graphs.generations import Outcome, Run

RELEASED, NOTHING_RELEASED, INTERRUPTED = 0, 3, 130


def run(config: RunConfig, *, fresh: bool = False, live: bool | None = None, out: TextIO | None = None) -> int:
    """Runs the main job to its end; returns the exit code.

    Args:
        config: The settings.
        fresh: Move an existing run folder aside first.
        live: The live table; `None` decides by whether standard error is a terminal.
        out: Where the closing lines go; standard output when left out.

    Raises:
        EvolutionError: The run cannot be started.
    """
    out = out or sys.stdout
    check(config)
    for model in unlimited_models(config):
        print(f"warning: no price of {model} is known: --budget-usd does not hold it back", file=sys.stderr)
    started = time.monotonic()
    with open_run(config, fresh=fresh) as folder:
        if folder.resumed:
            print(f"Going on with {folder.root}.", file=sys.stderr)
        try:
            with shown(live=live) as listen:
                outcome = asyncio.run(_run(folder, listen))
        except (SandboxError, OSError) as error:  # no sandbox can be had, or the disk is full
            print(f"error: {error}. What finished is saved in {folder.root}.", file=sys.stderr)
            return NOTHING_RELEASED
        except asyncio.CancelledError:
            print(f"Stopped at once. What finished is saved in {folder.root}.", file=sys.stderr)
            return INTERRUPTED
        closing = Closing(folder, outcome, time.monotonic() - started)
        for line in closing_lines(closing):
            print(line, file=out)
    if outcome.drained and not outcome.limit:
        return INTERRUPTED
    return RELEASED if outcome.releases else NOTHING_RELEASED


def dry_run(config: RunConfig, *, out: TextIO | None = None) -> int:
    """Says what a run with these settings would do and cost; starts nothing.

    Raises:
        EvolutionError: The run could not be started.
    """
    check(config)
    for line in forecast_lines(config):
        print(line, file=out or sys.stdout)
    return 0


async def _run(folder: RunFolder, listen: Listener) -> Outcome:
    async with assemble(folder, listen=listen) as whole:
        with _drained_by_signals(whole):
            return await whole.run()


@contextmanager
def _drained_by_signals(whole: Run) -> Iterator[None]:
    """Ctrl-C and SIGTERM drain the run; a second one ends it at once (finished work is in the journal either way)."""
    loop = asyncio.get_running_loop()
    main = asyncio.current_task()

    def interrupt() -> None:
        if whole.draining:
            if main is not None:
                main.cancel()
            return
        print("\nInterrupted: finishing the calls under way; once more to stop at once.", file=sys.stderr)
        whole.drain()

    names = (signal.SIGINT, signal.SIGTERM)
    for name in names:
        loop.add_signal_handler(name, interrupt)
    try:
        yield
    finally:
        for name in names:
            loop.remove_signal_handler(name)
