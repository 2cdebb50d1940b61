"""The console script `envolve`: the command-line doors of all rooms under one name, wherever it is called from."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Modules by name, not imports: a door may lie in a room above this one.
COMMANDS = {
    "generation": ("evolution.generation", "evolve environments and release harder, verified generations"),
    "validate": ("evolution.validate", "say of tasks whether they are sound, by running them"),
    "review": ("evolution.review", "look at released environments; reasons become rubrics"),
    "trial": ("sandbox.trial.__main__", "run one task in a sandbox and show its reward"),
    "shell": ("sandbox.shell.__main__", "work in a task's sandbox yourself"),
    "images": ("sandbox.images", "build, import, list and collect images"),
    "check": ("sandbox.check", "check a sandbox back end, one of yours too"),
    "clean": ("sandbox.clean", "remove what killed runs left behind"),
    "tabulate": ("evolution.tabulate", "count a reference table over shell scripts"),
    "doctor": ("sandbox.doctor", "say what this machine can do"),
}
WRONG_USE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command that the first word names, with the words after it; returns its exit code."""
    command, *rest = list(sys.argv[1:] if argv is None else argv) or ["help"]
    if command in ("help", "-h", "--help"):
        print(usage())
        return 0
    if command not in COMMANDS:
        print(f"error: unknown command {command!r}\n\n{usage()}", file=sys.stderr)
        return WRONG_USE
    problem = rooms_problem()
    if problem:
        print(f"error: {problem}", file=sys.stderr)
        return WRONG_USE
    module, _ = COMMANDS[command]
    code: int = import_module(module).main(rest)
    return code


def usage() -> str:
    """The commands with a line for each."""
    width = max(len(name) for name in COMMANDS)
    lines = [f"  {name:{width}}  {purpose} (python -m {module})" for name, (module, purpose) in COMMANDS.items()]
    return "\n".join(("usage: envolve COMMAND [options]", "", *lines, "", "`envolve COMMAND --help` says more."))


def rooms_problem() -> str:
    """What `sandbox.rooms.rooms_problem` says, or "" when all rooms are ours.

    It is loaded from its place beside this room, not by its name: `sandbox` may be the name that is taken.
    """
    place = Path(__file__).resolve().parent.parent / "sandbox" / "rooms.py"
    spec = spec_from_file_location("envolve_rooms", place)
    if spec is None or spec.loader is None or not place.is_file():
        return f"the package `sandbox` of envolve is missing beside {place.parent.parent}: reinstall envolve"
    rooms = module_from_spec(spec)
    spec.loader.exec_module(rooms)
    problem: str = rooms.rooms_problem()
    return problem
