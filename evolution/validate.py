"""`python -m evolution.validate`: is a task sound? Every gate's word on any folder of Harbor tasks."""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from evolution.commands import WRONG_USE, rooms_problem
from evolution.errors import ConfigError, EvolutionError
from evolution.gates.settings import GateSettings

if TYPE_CHECKING:
    from argparse import _ArgumentGroup
    from collections.abc import Sequence

DESCRIPTION = """\
Says of each task whether it is sound, by running it: does it build, does the reference solution earn 1 again and again,
on another day and another machine, does doing nothing earn less, does cheating, can the answer be found lying about, do
the tests notice a solution that is broken in small ways and accept one that is right but different.
"""
EPILOG = """\
examples:
  python -m evolution.validate my-tasks                         all gates that need no model
  python -m evolution.validate my-tasks --gates build oracle noop
  python -m evolution.validate my-tasks --held-out benchmark/ --json > report.jsonl
  python -m evolution.validate my-tasks --model anthropic/claude-opus-5 --gates rubric-judge calibration
  python -m evolution.validate --codes                          every finding that can come, with what it means

A run that was interrupted, even by SIGKILL, goes on when the same command is given again: finished tasks are kept in
--out by their content and these settings.

exit codes: 0 every task is accepted; 1 some are invalid or miscalibrated; 3 some could not be judged, for a reason that
is ours or this machine's, and none was refused; 2 wrong use; 130 interrupted.
"""
INTERRUPTED = 130


def parser() -> argparse.ArgumentParser:
    """The command line; of the gates' settings, what is not given is left out."""
    make = argparse.ArgumentParser(
        prog="python -m evolution.validate",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
    )
    make.add_argument("tasks", nargs="*", type=Path, metavar="TASKS", help="task folders, or folders of them")
    _gates(make.add_argument_group("what must hold"))
    _models(make.add_argument_group("gates that need a model"))
    _place(make.add_argument_group("where it runs"))
    _output(make.add_argument_group("what comes out"))
    return make


def _gates(group: _ArgumentGroup) -> None:
    group.add_argument(
        "--gates",
        nargs="+",
        action="extend",
        metavar="GATE",
        help="gates to ask, by name or module:Class (default: all)",
    )
    group.add_argument("--skip", nargs="+", action="extend", metavar="GATE", help="gates to leave out")
    group.add_argument("--reruns", type=int, metavar="N", help="runs of the reference solution against flakiness "
                       "(default: until --flakiness is ruled out at --confidence)")  # fmt: skip
    group.add_argument("--flakiness", type=float, metavar="P", help="share of failing runs to rule out (default: 0.1)")
    group.add_argument("--confidence", type=float, metavar="C", help="how surely (default: 0.95)")
    group.add_argument("--most-reruns", type=int, metavar="N", help="runs at most (default: 40)")
    group.add_argument(
        "--held-out", nargs="+", action="extend", metavar="DIR", help="held-out tasks that none may overlap with"
    )
    group.add_argument("--alternatives", metavar="DIR", help="right solutions: DIR/<task name>/<alternative>/solve.sh")
    group.add_argument("--mutants", type=int, metavar="N", help="broken solutions to try (default: 12)")
    group.add_argument("--least-noticed", type=float, metavar="S", help="share the tests must notice (default: 0.5)")
    group.add_argument("--suppressions", type=Path, metavar="FILE", help="TOML file of findings that do not count")
    group.add_argument("--fail-fast", action="store_true", help="leave a task at the first gate that refuses it")


def _models(group: _ArgumentGroup) -> None:
    group.add_argument("--model", metavar="MODEL", help="LiteLLM model string for every role below that has none")
    for role, what in (
        ("solver", "acts in gate calibration"),
        ("judge", "reads for gate rubric-judge"),
        ("attacker", "tries to cheat in gate exploit"),
        ("author", "writes other right solutions in gate alternative"),
    ):
        group.add_argument(f"--{role}", metavar="MODEL", help=f"{what}: a model string, or module:Class")
    group.add_argument("--api-base", metavar="URL", help="an OpenAI-compatible server for these models")
    group.add_argument("--budget-usd", type=float, metavar="D", help="dollars the models may cost")
    group.add_argument("--band", nargs=2, type=float, metavar=("LOW", "HIGH"), help="mean reward (default: 0.25 0.75)")
    group.add_argument("--deviation", type=float, metavar="S", help="least deviation of the rewards (default: 0.1)")
    group.add_argument("--rollouts", type=int, metavar="N", help="rollouts to begin with (default: 4)")
    group.add_argument("--most-rollouts", type=int, metavar="N", help="rollouts near an edge of the band (default: 8)")
    group.add_argument("--edge", type=float, metavar="D", help="distance from an edge that is near (default: 0.15)")
    group.add_argument("--rubrics", metavar="FILE", help="rubrics that people added (see python -m evolution.review)")


def _place(group: _ArgumentGroup) -> None:
    group.add_argument("--sandbox", metavar="NAME", help="back end, by name or module:Class (default: bubblewrap)")
    group.add_argument(
        "--base", nargs="+", action="extend", metavar="IMAGE=WHERE", help="what FROM stands for (default: *=host)"
    )
    group.add_argument("--network", choices=("task", "none", "public", "host"), help="default: what each task asks for")
    group.add_argument("--workers", type=int, metavar="N", help="tasks at once (default: two per core)")
    group.add_argument("--sandboxes", type=int, metavar="N", help="sandboxes alive at once (default: four per core)")


def _output(group: _ArgumentGroup) -> None:
    group.add_argument("--out", type=Path, metavar="DIR", help="where results are kept (default: runs/validation)")
    group.add_argument("--fresh", action="store_true", help="put aside what is kept there (old-1, …), and begin anew")
    group.add_argument("--json", action="store_true", help="print one line of JSON for each task, in order")
    group.add_argument("--junit", nargs="?", type=Path, const=Path("junit.xml"), metavar="FILE",
                       help="write JUnit XML (default name: junit.xml)")  # fmt: skip
    group.add_argument("--plain", action="store_true", help="plain lines instead of the live table")
    group.add_argument("--quiet", action="store_true", help="nothing on the way")
    group.add_argument(
        "--codes", action="store_true", help="list the finding codes of all gates, or of --gates, and end"
    )


def gate_settings(arguments: dict[str, Any]) -> GateSettings:
    """The gates' settings from the command line.

    Raises:
        ConfigError: One is wrong; names it.
    """
    given = {name: value for name, value in arguments.items() if name in GateSettings.model_fields}
    try:
        return GateSettings.model_validate(given)
    except ValidationError as error:
        problems = []
        for problem in error.errors():
            name = str(problem["loc"][0]) if problem["loc"] else ""
            flag = f"--{name.replace('_', '-')}: " if name else ""
            said = problem["msg"].removeprefix("Value error, ")
            problems.append(f"{flag}{said}, got {problem['input']!r}" if flag else said)
        raise ConfigError("; ".join(problems)) from error


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # evidence may hold what the terminal's encoding has no letter for
        sys.stdout.reconfigure(errors="backslashreplace")
    make = parser()
    arguments = vars(make.parse_args(argv))
    problem = rooms_problem()
    if problem:
        print(f"error: {problem}", file=sys.stderr)
        return WRONG_USE
    if not arguments.get("codes") and not arguments.get("tasks"):
        make.error("name a task folder, or a folder of them")
    try:
        return _list_codes(arguments) if arguments.get("codes") else _validate(arguments)
    except EvolutionError as error:
        print(f"error: {error}", file=sys.stderr)
        return WRONG_USE
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("Interrupted; what finished is kept, the same command goes on.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # whoever read has read enough; the interpreter would say so once more when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INTERRUPTED


def _list_codes(arguments: dict[str, Any]) -> int:
    from evolution.gates.registry import BUILT_IN
    from evolution.validation.codes import code_lines

    print("\n".join(code_lines(arguments.get("gates", BUILT_IN))))
    return 0


def _validate(arguments: dict[str, Any]) -> int:
    from evolution.validation.command import run
    from evolution.validation.job import Job

    job = Job.of(arguments, gate_settings(arguments))
    if not job.models:
        return run(job)
    from graphs.validation import roles_for

    return run(job, roles_for)


if __name__ == "__main__":
    sys.exit(main())
