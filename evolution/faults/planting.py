"""Finds the kinds of faults, and plants one in a task by a seed."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from evolution.faults import independent, known
from evolution.faults.draft import Draft
from evolution.faults.fault import Fault
from evolution.randomness import generator

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sandbox.task import Task


@cache
def kinds() -> Mapping[str, Fault]:
    """All kinds by name: what the modules of `known/` and `independent/` list in `FAULTS`."""
    found: dict[str, Fault] = {}
    for room in (known, independent):
        for module in sorted(info.name for info in pkgutil.iter_modules(room.__path__)):
            faults: tuple[Fault, ...] = getattr(importlib.import_module(f"{room.__name__}.{module}"), "FAULTS", ())
            for fault in faults:
                if fault.kind in found or fault.independent is not (room is independent):
                    raise ValueError(f"fault {fault.kind!r} of {room.__name__}.{module}: there twice, or mislabelled")
                found[fault.kind] = fault
    return MappingProxyType(dict(sorted(found.items())))


def plant(task: Task, kind: str, seed: int, folder: Path) -> bool:
    """Writes a copy of a sound task with one fault in it to a new folder.

    The same task, kind and seed give the same bytes. Some faults leave a folder that `Task.read` refuses.

    Args:
        task: A sound task.
        kind: A name in `kinds()`.
        seed: Which of the many ways.
        folder: Where to; must not be there yet.

    Returns:
        Whether it could; if not, this kind has nothing to hold on to in this task, and nothing is written.

    Raises:
        KeyError: No such kind.
        FileExistsError: The folder is there.
    """
    draft = Draft.of(task)
    planted = plant_in(draft, kind, seed)
    if planted:
        draft.save(folder)
    return planted


def plant_in(draft: Draft, kind: str, seed: int) -> bool:
    """Plants in a draft (see `plant`); whether it could."""
    return kinds()[kind].plant(draft, generator("fault", kind, seed))
