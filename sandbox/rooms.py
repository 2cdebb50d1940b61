"""Whether the five top-level packages are ours: their names are common, and another distribution may have taken one."""

from __future__ import annotations

import re
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

ROOMS = ("rl", "graphs", "agents", "evolution", "sandbox")


class RoomsError(ImportError):
    """A folder or distribution of the same name stands where one of our packages should be; names it."""


def check_rooms() -> None:
    """Makes sure that every room comes from the folder this file lies in.

    Raises:
        RoomsError: One does not; the message names the intruder and the way out.
    """
    home = Path(__file__).resolve().parent.parent
    for room in ROOMS:
        found = _location(room)
        if found is None:
            raise RoomsError(f"the package `{room}` of envolve is missing beside {home}: reinstall envolve")
        if found != home / room:
            raise RoomsError(
                f"`import {room}` finds {found}, which is not envolve's: it shadows {home / room}. "
                f"Run from a folder that holds no `{found.name}` (the console script `envolve` does not look into the "
                f"current one), or use a virtual environment without the distribution that brought it"
            )
        if not _is_ours(found, room):
            raise RoomsError(
                f"{found / '__init__.py'} is not envolve's: another distribution wrote over it or took it away "
                f"(`openai-agents` also installs a package `agents`). Use a virtual environment for each, or reinstall "
                f"envolve after it: pip install --force-reinstall --no-deps envolve"
            )


def rooms_problem() -> str:
    """What `check_rooms` finds, in words; "" when all rooms are ours. Every command asks this first."""
    try:
        check_rooms()
    except RoomsError as error:
        return str(error)
    return ""


def _location(room: str) -> Path | None:
    """The folder or file that `import room` gives, whether or not it was imported yet; `None` where there is none."""
    loaded = getattr(sys.modules.get(room), "__spec__", None)
    spec: ModuleSpec | None = loaded or PathFinder.find_spec(room) or _editable(room)
    if spec is None:
        return None
    if spec.submodule_search_locations is not None:  # a package; one without __init__.py has no origin
        return Path(next(iter(spec.submodule_search_locations), room)).resolve()
    return Path(spec.origin or room).resolve()


def _editable(room: str) -> ModuleSpec | None:
    """Where an editable install's own finder says it is."""
    for finder in sys.meta_path:
        spec = finder.find_spec(room, None, None) if hasattr(finder, "find_spec") else None
        if spec is not None:
            return spec
    return None


def _is_ours(folder: Path, room: str) -> bool:
    try:
        text = (folder / "__init__.py").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return re.search(rf"^envolve room: {room}$", text, re.MULTILINE) is not None
