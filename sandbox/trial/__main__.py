"""`python -m sandbox.trial TASK… --agent oracle`: runs trials in fresh sandboxes and prints their rewards."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.backends import load_backend
from sandbox.errors import SandboxError, TaskError
from sandbox.rooms import rooms_problem
from sandbox.sandboxes import Sandboxes
from sandbox.task import Task
from sandbox.trial.agents import AgentChoiceError, choose_agent
from sandbox.trial.network import CHOICES
from sandbox.trial.running import Trials, failed
from sandbox.trial.show import as_json, as_text

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from sandbox.protocol import SandboxBackend
    from sandbox.trial.agents import AgentChoice
    from sandbox.trial.keeping import KeptTrials, TrialFolder
    from sandbox.trial.result import TrialResult

_HELP = """\
the agent is one of
  oracle         the task's reference solution
  nop            nobody: what does the verifier give for no work?
  script:FILE    a shell script, run as the agent's user; its argument is the file with the instruction
  module:Class   an agent of this project (sandbox.trial.agent.Agent) or of Harbor (harbor.agents.base.BaseAgent)

exit status: 0 every trial has a score, 1 some have none, 2 wrong use
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs trials and prints what came of each; 0 when all have a score, 1 when some have none, 2 for wrong use."""
    problem = rooms_problem()
    if problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        choice = choose_agent(options.agent, dict(map(_option, options.agent_option)))
        backend = load_backend(options.sandbox, base=options.base)
    except (SandboxError, ValueError) as error:
        parser.error(str(error))
    missing = [str(folder) for folder in options.task if not folder.is_dir()]
    if missing:
        parser.error(f"no such task folder: {', '.join(missing)}")
    try:
        scored = asyncio.run(_run(options, choice, backend))
    except (AgentChoiceError, FileExistsError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0 if scored else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.trial",
        description="Run trials of tasks: an agent works in a sandbox, then the task's verifier judges.",
        epilog=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("task", type=Path, nargs="+", help="a Harbor task folder")
    parser.add_argument("--agent", default="oracle", metavar="AGENT", help="who acts (below); default: oracle")
    parser.add_argument(
        "--agent-option", action="append", default=[], metavar="KEY=VALUE", help="for module:Class; JSON or text"
    )
    parser.add_argument("--sandbox", default="bubblewrap", metavar="NAME", help="back end, or module:Class")
    parser.add_argument("--base", action="append", default=[], metavar="IMAGE=DIR", help="what a FROM line stands for")
    parser.add_argument("--network", choices=CHOICES, default="task", help="default: what the task asks for")
    parser.add_argument("--attempts", type=_count, default=1, metavar="N", help="trials of each task")
    parser.add_argument("--concurrency", type=_count, default=4, metavar="N", help="trials at once")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep each trial in a folder, as Harbor does")
    parser.add_argument("--json", action="store_true", help="print results as JSON, of several trials one a line")
    return parser


async def _run(options: argparse.Namespace, choice: AgentChoice, backend: SandboxBackend) -> bool:
    sandboxes = Sandboxes(backend, concurrency=options.concurrency)
    trials = Trials(sandboxes, choice, network=options.network)
    several = len(options.task) * options.attempts > 1
    try:
        runs, kept = _planned(options, choice, trials)
        scored = True
        started = [asyncio.ensure_future(run) for run, _ in runs]
        try:
            for run in started:  # printed in order, each as soon as those before it are there
                result = await run
                scored = scored and result.score is not None
                print(_shown(result, several=several, as_lines=options.json), flush=True)
        finally:
            for run in started:
                run.cancel()
            await asyncio.gather(*started, return_exceptions=True)
        if kept is not None:
            kept.finish([folder.record for _, folder in runs if folder is not None and folder.record is not None])
    finally:
        await backend.close()
    return scored


def _planned(
    options: argparse.Namespace, choice: AgentChoice, trials: Trials
) -> tuple[list[tuple[Coroutine[None, None, TrialResult], TrialFolder | None]], KeptTrials | None]:
    """What is to run, in order. A task that cannot be read is a result of its own and stops no other.

    Raises:
        FileExistsError: A folder of `--out` is there already.
    """
    read = [_read(folder) for folder in options.task]
    tasks = [task for task in read if isinstance(task, Task)]
    kept = _kept(options, choice)
    names = iter(kept.names(tasks, options.attempts) if kept else ())
    runs: list[tuple[Coroutine[None, None, TrialResult], TrialFolder | None]] = []
    for folder, task in zip(options.task, read, strict=True):
        own = next(names) if kept and isinstance(task, Task) else []
        for attempt in range(1, options.attempts + 1):
            if isinstance(task, TaskError):
                runs.append((_unread(folder, choice, task, attempt), None))
            else:
                place = kept.trial(own[attempt - 1], task) if kept else None
                runs.append((trials.run(task, attempt=attempt, folder=place), place))
    return runs, kept


def _kept(options: argparse.Namespace, choice: AgentChoice) -> KeptTrials | None:
    if options.out is None:
        return None
    from sandbox.trial.keeping import KeptTrials, Setting

    return KeptTrials(options.out, Setting(choice, options.sandbox, tuple(options.base)))


def _read(folder: Path) -> Task | TaskError:
    try:
        return Task.read(folder)
    except TaskError as error:
        return error


async def _unread(folder: Path, choice: AgentChoice, error: TaskError, attempt: int) -> TrialResult:
    return failed(folder.name, choice.name, error, attempt=attempt)


def _shown(result: TrialResult, *, several: bool, as_lines: bool) -> str:
    if not as_lines:
        return as_text(result, named=several)
    return json.dumps(as_json(result), indent=None if several else 2)


def _option(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ValueError(f"--agent-option {text}: expected KEY=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("expected a number from 1")
    return number


if __name__ == "__main__":
    raise SystemExit(main())
