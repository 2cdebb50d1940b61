"""`python -m evolution.generation`: terminal environments in, verified harder generations out."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evolution.commands import WRONG_USE, rooms_problem
from evolution.config import MODES, ROLES, RunConfig, read_config
from evolution.errors import ConfigError, EvolutionError
from evolution.gates.registry import DEFAULT_GATES
from evolution.plan import Axis, Effort

if TYPE_CHECKING:
    from argparse import _ArgumentGroup
    from collections.abc import Sequence

DESCRIPTION = """\
Takes terminal environments (Harbor tasks) and releases generations of harder, verified ones.

For each seed environment and each generation, a proposer and a critic agree on a plan along one difficulty axis
(scenario, skill or length), an evolver edits the environment by it, and gates run the result: its reference solution
must earn reward 1, doing nothing must not, its parent's solution must fail. What passes all gates is released.

With no --model it runs on the embedded author: no API key, no Docker, no GPU.
"""
INTERRUPTED = 130
EPILOG = """\
examples:
  python -m evolution.generation                                     the bundled seeds, 3 generations
  python -m evolution.generation --seeds my-tasks --out runs/mine    your own Harbor tasks
  python -m evolution.generation --model anthropic/claude-opus-5 --budget-usd 20
  python -m evolution.generation --seeds my-tasks --out runs/mine --generations 6    three more of the same run

A run that was interrupted, even by SIGKILL, goes on when the same command is given again. Keys are read from the
provider's environment variable (ANTHROPIC_API_KEY, OPENAI_API_KEY, ...) and never written to disk.

exit codes: 0 at least one environment was released; 3 none was; 2 wrong use; 130 interrupted (what finished is saved).
"""


def parser() -> argparse.ArgumentParser:
    """The command line; what is not given is left out, so that a YAML file can say it."""
    make = argparse.ArgumentParser(
        prog="python -m evolution.generation",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
    )
    _what_to_evolve(make.add_argument_group("what to evolve"))
    _who_does_it(make.add_argument_group("who does it"))
    _where_it_runs(make.add_argument_group("where it runs"))
    _what_must_hold(make.add_argument_group("what must hold"))
    _the_run_itself(make.add_argument_group("the run itself"))
    return make


def _what_to_evolve(what: _ArgumentGroup) -> None:
    what.add_argument(
        "--seeds",
        nargs="+",
        action="extend",
        metavar="DIR",
        help="task folders, or folders of them (default: the bundled seeds)",
    )
    what.add_argument("--out", metavar="DIR", help="run folder (default: runs/default)")
    what.add_argument("--generations", type=int, metavar="N", help="generations to release (default: 3)")
    what.add_argument(
        "--axes", nargs="+", action="extend", metavar="AXIS", help=f"difficulty axes: {', '.join(Axis)} (default: all)"
    )
    what.add_argument(
        "--effort", metavar="EFFORT", help=f"how much one generation may edit: {', '.join(Effort)} (default: high)"
    )
    what.add_argument("--seed", type=int, metavar="N", help="number all randomness derives from (default: 0)")


def _who_does_it(who: _ArgumentGroup) -> None:
    who.add_argument("--model", metavar="M", help="LiteLLM model string for every role (default: embedded/author)")
    for role in ROLES:
        who.add_argument(f"--{role}-model", metavar="M", help=f"model of the {role} alone")
    who.add_argument(
        "--mode",
        metavar="HOW",
        choices=MODES,
        help="how environments are written: loop (default) works in a sandbox; prompt+feedback gives one answer and "
        "sees what the gates found; prompt does not see it",
    )
    who.add_argument("--api-base", metavar="URL", help="address of an OpenAI-compatible server")
    who.add_argument("--budget-usd", type=float, metavar="X", help="stop before the models cost more than this")


def _where_it_runs(where: _ArgumentGroup) -> None:
    where.add_argument(
        "--sandbox", metavar="NAME", help="sandbox back end, by name or module:Class (default: bubblewrap)"
    )
    where.add_argument(
        "--base",
        nargs="+",
        action="extend",
        metavar="IMAGE=WHERE",
        help="what FROM stands for: a root folder, a tar, or `host` (default for bubblewrap: *=host)",
    )
    where.add_argument("--userns", metavar="HOW", help="user ids in sandboxes: auto, single or range (default: auto)")
    where.add_argument("--workers", type=int, metavar="N", help="lineages worked on at once (default: 4)")
    where.add_argument(
        "--sandboxes", type=int, metavar="N", help="sandboxes alive at once (default: by workers and cores)"
    )


def _what_must_hold(gates: _ArgumentGroup) -> None:
    gates.add_argument(
        "--gates",
        nargs="+",
        action="extend",
        metavar="GATE",
        help=f"gates a child must pass (default: {' '.join(DEFAULT_GATES)})",
    )
    gates.add_argument(
        "--rubrics", metavar="FILE", help="rubrics that people added, for critic and judge (python -m evolution.review)"
    )
    gates.add_argument(
        "--reruns", type=int, metavar="N", help="repetitions of the reference solution against flakiness (default: 2)"
    )
    gates.add_argument("--plan-attempts", type=int, metavar="N", help="plans per axis (default: 3)")
    gates.add_argument("--repair-attempts", type=int, metavar="N", help="environments per plan (default: 3)")


def _the_run_itself(run: _ArgumentGroup) -> None:
    run.add_argument("--config", metavar="FILE", help="the same settings as YAML; the command line wins")
    start = run.add_mutually_exclusive_group()
    start.add_argument("--resume", action="store_true", help="go on with the run folder when it exists (the default)")
    start.add_argument("--fresh", action="store_true", help="move an existing run folder aside and start anew")
    run.add_argument("--dry-run", action="store_true", help="say what would run and what it would cost; start nothing")
    run.add_argument("--plain", action="store_true", help="plain lines instead of the live table")


def settings(arguments: dict[str, Any]) -> RunConfig:
    """The run's settings from the command line and the YAML file it names.

    Raises:
        ConfigError: A setting is unknown or wrong; or no seeds are named and this is a wheel, which holds none.
    """
    overrides = {k: v for k, v in arguments.items() if k in RunConfig.model_fields}
    path = Path(arguments["config"]) if "config" in arguments else None
    bundled = bundled_seeds()
    config = read_config(path, overrides, {"out": Path("runs/default"), "seeds": (bundled,)})
    if config.seeds == (bundled,) and not bundled.is_dir():
        raise ConfigError("the bundled seeds are in the checkout, not in the wheel: name task folders with --seeds DIR")
    return _from_here(config)


def _from_here(config: RunConfig) -> RunConfig:
    """The settings with absolute paths: what is kept in the run folder means the same from any folder."""
    bases = []
    for rule in config.base:
        image, equals, where = rule.rpartition("=")
        is_path = image and where and where != "host" and config.sandbox != "e2b"
        bases.append(f"{image}{equals}{Path(where).absolute()}" if is_path else rule)
    return config.model_copy(
        update={
            "seeds": tuple(folder.absolute() for folder in config.seeds),
            "out": config.out.absolute(),
            "rubrics": config.rubrics.absolute() if config.rubrics else None,
            "base": tuple(bases),
        }
    )


def bundled_seeds() -> Path:
    """Where the seeds lie that come with the checkout; in an installed wheel nothing is there."""
    return Path(__file__).resolve().parent.parent / "examples" / "seeds" / "terminal"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a reason may hold what the terminal's encoding has no letter for
        sys.stdout.reconfigure(errors="backslashreplace")
    arguments = vars(parser().parse_args(argv))
    problem = rooms_problem()
    if problem:
        print(f"error: {problem}", file=sys.stderr)
        return WRONG_USE
    try:
        config = settings(arguments)
        from graphs import console

        if arguments.get("dry_run"):
            return console.dry_run(config)
        return console.run(config, fresh=bool(arguments.get("fresh")), live=False if arguments.get("plain") else None)
    except EvolutionError as error:
        print(f"error: {error}", file=sys.stderr)
        return WRONG_USE
    except KeyboardInterrupt:  # before the run handles it itself
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
