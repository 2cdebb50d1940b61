"""`python -m sandbox.trial TASK --agent oracle` runs the reference solution in a fresh sandbox; prints the reward."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.backends import load_backend
from sandbox.errors import SandboxError, TaskError
from sandbox.protocol import Network
from sandbox.rooms import rooms_problem
from sandbox.sandboxes import Sandboxes
from sandbox.task import Task
from sandbox.trial.result import TrialResult, as_json
from sandbox.trial.steps import run_noop, run_reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.protocol import SandboxBackend


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one trial and prints what came of it; 0 when there is a score, 1 when there is none, 2 for wrong use."""
    problem = rooms_problem()
    if problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    parser = argparse.ArgumentParser(prog="python -m sandbox.trial", description="Run one trial of a task.")
    parser.add_argument("task", type=Path, help="a Harbor task folder")
    parser.add_argument("--agent", choices=("oracle", "noop"), default="oracle")
    parser.add_argument("--sandbox", default="bubblewrap", metavar="NAME", help="back end, or module:Class")
    parser.add_argument("--base", action="append", default=[], metavar="IMAGE=DIR", help="what a FROM line stands for")
    parser.add_argument("--network", choices=("none", "host"), default="none")
    parser.add_argument("--json", action="store_true", help="print the whole result as JSON")
    options = parser.parse_args(arguments)
    try:
        backend = load_backend(options.sandbox, base=options.base)
    except (SandboxError, ValueError) as error:
        parser.error(str(error))
    try:
        result = asyncio.run(_trial(options, backend))
    except (TaskError, SandboxError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    print(json.dumps(as_json(result), indent=2) if options.json else _shown(result))
    return 0 if result.score is not None else 1


async def _trial(options: argparse.Namespace, backend: SandboxBackend) -> TrialResult:
    task = Task.read(options.task)
    try:
        async with Sandboxes(backend).running(task, network=Network(options.network)) as sandbox:
            return await (run_reference if options.agent == "oracle" else run_noop)(task, sandbox)
    finally:
        await backend.close()


def _shown(result: TrialResult) -> str:
    lines = [
        f"reward {result.score:g}" if result.score is not None else f"no reward ({result.error_code}): {result.error}"
    ]
    lines += [f"  {unit.status:8} {unit.name}" + (f": {unit.message}" if unit.message else "") for unit in result.units]
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
