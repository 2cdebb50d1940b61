"""Whether a back end keeps the contract of `sandbox.protocol`: `python -m sandbox.check NAME` or `module:Class`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.conformance.checks import all_checks
from sandbox.conformance.reporting import as_json, conforms, line, summary, write_junit
from sandbox.conformance.running import chosen, run_checks
from sandbox.conformance.subject import Subject, read_option
from sandbox.errors import SandboxError
from sandbox.rooms import rooms_problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.conformance.checks import Check
    from sandbox.conformance.running import Outcome

_EXAMPLES = """\
examples:
  python -m sandbox.check bubblewrap --base '*=host'
  python -m sandbox.check docker --base '*=./debian' --only timeouts --only cleanup.killed
  python -m sandbox.check my_package.backend:MyBackend --option region=eu --junit report.xml

A check is `not offered` when the back end itself says, by its capabilities, that it lacks what the check needs; it is
never passed without being tried. The checks run one after another and take a few minutes.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the checks and prints what came of each; 0 when none failed, 1 when one did, 2 when none could run."""
    problem = rooms_problem()
    if problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    parser = _parser()
    options = parser.parse_args(arguments)
    checks = chosen(all_checks(), options.only)
    if not checks:
        parser.error(f"--only {' '.join(options.only)}: no check of that name; see --list")
    if options.list:
        print(_listed(checks))
        return 0
    if not options.backend:
        parser.error("name a back end (bubblewrap, docker, e2b, local, module:Class), or give --list")
    try:
        subject = Subject(options.backend, tuple(options.base), dict(read_option(text) for text in options.option))
        outcomes = asyncio.run(_run(subject, checks, quiet=options.json))
    except (SandboxError, ValueError, TypeError) as error:
        print(f"error: {options.backend} cannot be checked here: {error}", file=sys.stderr)
        return 2
    if options.junit:
        try:
            write_junit(options.junit, options.backend, checks, outcomes)
        except OSError as error:
            print(f"error: --junit {options.junit}: {error.strerror}", file=sys.stderr)
            return 2
    text = as_json(options.backend, checks, outcomes) if options.json else f"\n{summary(options.backend, outcomes)}"
    print(text)
    return 0 if conforms(outcomes) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.check",
        description=__doc__,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("backend", nargs="?", metavar="NAME", help="a back end's name, or module:Class")
    parser.add_argument("--base", action="append", default=[], metavar="IMAGE=DIR", help="what a FROM line stands for")
    parser.add_argument("--option", action="append", default=[], metavar="K=V", help="an argument of the class")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="theme, id, or pattern with *")
    parser.add_argument("--list", action="store_true", help="print the checks and what each promises, and run none")
    parser.add_argument("--json", action="store_true", help="print the outcomes as JSON")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write them as JUnit XML, too")
    return parser


async def _run(subject: Subject, checks: Sequence[Check], *, quiet: bool) -> tuple[Outcome, ...]:
    width = max(len(check.id) for check in checks)

    def told(outcome: Outcome) -> None:
        if not quiet:
            print(line(outcome, width=width), flush=True)

    return await run_checks(subject, checks, told=told)


def _listed(checks: Sequence[Check]) -> str:
    width = max(len(check.id) for check in checks)
    rows = []
    for check in checks:
        needs = f" [needs {', '.join(check.needs)}]" if check.needs else ""
        lacks = f" [for those without {', '.join(check.lacks)}]" if check.lacks else ""
        rows.append(f"{check.id:{width}}  {check.promise}{needs}{lacks}")
    return "\n".join(rows)


if __name__ == "__main__":
    raise SystemExit(main())
