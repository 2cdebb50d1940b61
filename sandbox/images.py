"""The image store's door: `python -m sandbox.images build | import | list | collect | export`.

build TASK…               builds the tasks' images, so that nothing has to be built when they are run
import NAME ARCHIVE       makes `FROM NAME` stand for an archive (docker save, docker export, an OCI layout)
list                      what the store holds, how large it is, how long nobody has used it
collect                   removes what nobody has used for long; --dry-run only tells
export TASK FILE.tar      writes a task's image as an OCI layout, which another machine imports or loads
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.errors import SandboxError, TaskError
from sandbox.rooms import rooms_problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.bubblewrap.backend import BubblewrapBackend

_DAY = 86_400.0
_GIGABYTE = 10**9


def main(arguments: Sequence[str] | None = None) -> int:
    """Does one of the five; 0 when all of it was done, 1 when an image does not build, 2 for wrong use."""
    problem = rooms_problem()
    if problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.what == "collect" and options.unused_for is None and options.max_size is None:
        parser.error("collect: say what may go: --unused-for DAYS, --max-size GB, or both")
    from sandbox.bubblewrap.backend import BubblewrapBackend

    try:
        backend = BubblewrapBackend(base=tuple(options.base), engines=tuple(options.engines))
    except ValueError as error:
        parser.error(str(error))
    try:
        return asyncio.run(_closing(options, backend))
    except (TaskError, SandboxError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    from sandbox.image.engines import DEFAULT_ENGINES

    parser = argparse.ArgumentParser(
        prog="python -m sandbox.images", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--base", action="append", default=[], metavar="IMAGE=DIR", help="what a FROM line stands for")
    common.add_argument(
        "--engines",
        type=lambda text: text.split(","),
        default=DEFAULT_ENGINES,
        metavar="NAME,NAME",
        help=f"who may build, in order of preference (default: {','.join(DEFAULT_ENGINES)})",
    )
    commands = parser.add_subparsers(dest="what", required=True, metavar="build | import | list | collect | export")
    build = commands.add_parser("build", parents=[common], help="build the tasks' images")
    build.add_argument("task", nargs="+", type=Path)
    imported = commands.add_parser("import", parents=[common], help="make an image name stand for an archive")
    imported.add_argument("name")
    imported.add_argument("archive", type=Path)
    listed = commands.add_parser("list", parents=[common], help="what the store holds")
    listed.add_argument("--json", action="store_true")
    collect = commands.add_parser("collect", parents=[common], help="remove what is no longer used")
    collect.add_argument("--unused-for", type=float, metavar="DAYS", help="images not used for so long")
    collect.add_argument("--max-size", type=float, metavar="GB", help="those used longest ago, until the rest fits")
    collect.add_argument("--dry-run", action="store_true", help="only tell")
    export = commands.add_parser("export", parents=[common], help="write a task's image as an OCI layout")
    export.add_argument("task", type=Path)
    export.add_argument("target", type=Path, metavar="FILE.tar")
    return parser


async def _closing(options: argparse.Namespace, backend: BubblewrapBackend) -> int:
    try:
        return await _COMMANDS[options.what](options, backend)
    finally:
        await backend.close()


async def _build(options: argparse.Namespace, backend: BubblewrapBackend) -> int:
    from sandbox.task import Task

    failed = 0
    for root in options.task:
        try:
            image = await backend.build(await asyncio.to_thread(Task.read, root))
        except (TaskError, SandboxError) as error:
            print(f"{root}: {type(error).__name__}: {error}", file=sys.stderr)
            failed += 1
        else:
            print(f"{root}: {image.reference} (from {image.base})")
    return 1 if failed else 0


async def _import(options: argparse.Namespace, backend: BubblewrapBackend) -> int:
    if not options.archive.exists():
        print(f"error: {options.archive}: nothing there", file=sys.stderr)
        return 2
    image = await backend.import_image(options.name, options.archive)
    print(f"{options.name} is {image.reference}")
    return 0


async def _list(options: argparse.Namespace, backend: BubblewrapBackend) -> int:
    from sandbox.bubblewrap.collecting import kept

    entries = await asyncio.to_thread(kept, await backend.image_store())
    if options.json:
        rows = [{**asdict(entry), "needs": sorted(entry.needs)} for entry in entries]
        print(json.dumps(rows, indent=2))
        return 0
    for entry in entries:
        named = f"  {', '.join(entry.names)}" if entry.names else ""
        used = "in use" if entry.used else f"unused {entry.unused / _DAY:.1f} d"
        print(f"{entry.key:32} {entry.bytes / 1e6:10.1f} MB  {used:14} {entry.base or 'part of images'}{named}")
    print(f"{len(entries)} entries, {sum(entry.bytes for entry in entries) / 1e6:.1f} MB")
    return 0


async def _collect(options: argparse.Namespace, backend: BubblewrapBackend) -> int:
    removed = await backend.collect_images(
        unused_for=None if options.unused_for is None else options.unused_for * _DAY,
        max_bytes=None if options.max_size is None else int(options.max_size * _GIGABYTE),
        dry_run=options.dry_run,
    )
    for stale in removed:
        print(f"{stale.name}  {stale.note}")
    print(f"{len(removed)} {'would be removed' if options.dry_run else 'removed'}")
    return 0


async def _export(options: argparse.Namespace, backend: BubblewrapBackend) -> int:
    from sandbox.bubblewrap.exporting import export_image
    from sandbox.task import Task

    image = await backend.build(await asyncio.to_thread(Task.read, options.task))
    await export_image(backend, image, options.target, name=f"{options.task.absolute().name.lower()}:latest")
    print(f"{options.target}: {image.reference}")
    return 0


_COMMANDS = {"build": _build, "import": _import, "list": _list, "collect": _collect, "export": _export}


if __name__ == "__main__":
    raise SystemExit(main())
