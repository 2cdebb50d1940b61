"""Shows and removes what dead processes of this project left behind: `python -m sandbox.clean --dry-run`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.backends import load_backend
from sandbox.errors import SandboxError
from sandbox.rooms import rooms_problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.protocol import Stale

BACKENDS = ("bubblewrap", "docker", "e2b", "local")
_DAY_SECONDS = 86_400.0
_EPILOG = """\
What a living process owns is never touched, whoever runs it. Images are kept unless --images-unused-for is given.
Exit status: 0 nothing is left, 1 something could not be removed (or, with --dry-run, something is there), 2 wrong use,
or a back end that was named cannot be asked here.
"""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What came of one back end.

    Attributes:
        backend: Its name.
        found: What was stale.
        left: What still is, after a sweep.
        problem: Why it could not be asked; "" when it was.
    """

    backend: str
    found: tuple[Stale, ...] = ()
    left: tuple[Stale, ...] = ()
    problem: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Lists and removes; see `--help` for the exit status."""
    problem = rooms_problem()
    if problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.clean",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would go, and remove nothing")
    parser.add_argument(
        "--sandbox", action="append", default=[], metavar="NAME", help="this back end only; may be given again"
    )
    parser.add_argument(
        "--images-unused-for", type=float, metavar="DAYS", help="images that nothing was started from for so long, too"
    )
    options = parser.parse_args(arguments)
    days: float | None = options.images_unused_for
    if days is not None and days < 0:
        parser.error(f"--images-unused-for {days:g}: a number of days, 0 for all that nothing uses now")
    seconds = None if days is None else days * _DAY_SECONDS
    names = tuple(options.sandbox) or BACKENDS
    cleaned = asyncio.run(_clean_all(names, dry_run=options.dry_run, images_unused_for=seconds))
    _show(cleaned, dry_run=options.dry_run, images=seconds is not None)
    if options.sandbox and any(one.problem for one in cleaned):
        return 2
    return 1 if any(one.found if options.dry_run else one.left for one in cleaned) else 0


async def _clean_all(names: Sequence[str], *, dry_run: bool, images_unused_for: float | None) -> tuple[Cleaned, ...]:
    return tuple([await _clean(name, dry_run=dry_run, images_unused_for=images_unused_for) for name in names])


async def _clean(name: str, *, dry_run: bool, images_unused_for: float | None) -> Cleaned:
    """Asks one back end, and has it sweep unless this is a rehearsal."""
    try:
        backend = load_backend(name)
        try:
            found = await backend.stale(images_unused_for=images_unused_for)
            if dry_run or not found:
                return Cleaned(name, found, found)
            await backend.sweep(images_unused_for=images_unused_for)
            gone = {(one.kind, one.name) for one in found}
            still = await backend.stale(images_unused_for=images_unused_for)
            return Cleaned(name, found, tuple(one for one in still if (one.kind, one.name) in gone))
        finally:
            await backend.close()
    except (SandboxError, OSError) as error:
        return Cleaned(name, problem=str(error))


def _show(cleaned: Sequence[Cleaned], *, dry_run: bool, images: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if any(one.found for one in cleaned):
        table = Table("back end", "kind", "name", "note", "" if dry_run else "removed", box=None, pad_edge=False)
        for one in cleaned:
            for stale in one.found:
                removed = "" if dry_run else "no" if stale in one.left else "yes"
                table.add_row(*(Text(word) for word in (one.backend, stale.kind, stale.name, stale.note, removed)))
        console.print(table)
    for one in cleaned:
        if one.problem:
            console.print(Text(f"{one.backend}: not asked: {one.problem}"))
        elif not one.found:
            console.print(Text(f"{one.backend}: nothing that a dead process left"))
        for stale in () if dry_run else one.left:
            console.print(Text(f"{one.backend}: {stale.kind} {stale.name} could not be removed; in use, or not ours"))
    console.print(Text("what living processes own: left alone"))
    if not images:
        console.print(Text("images: left alone (--images-unused-for DAYS)"))
    if dry_run:
        console.print(Text("a rehearsal: nothing was removed"))


if __name__ == "__main__":
    raise SystemExit(main())
