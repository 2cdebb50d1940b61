"""Seeds on their way in: find the task folders, read them, name their lineages. A bad folder never stops the others."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.errors import TaskError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sandbox.task import Task

_LONGEST_NAME = 48


@dataclass(frozen=True, slots=True)
class Seed:
    """A seed environment and the name of the lineage that starts with it."""

    lineage: str
    task: Task


@dataclass(frozen=True, slots=True)
class Refusal:
    """A folder that cannot be a seed, and why."""

    folder: Path
    reason: str


def find_tasks(folders: tuple[Path, ...]) -> Iterator[Path]:
    """The task folders among and below `folders`, in a fixed order; a folder that holds none is given as it is.

    A folder with a `task.toml` or an `instruction.md`, or a Terminal-Bench 1 `task.yaml`, is a task; nothing inside it
    is searched.
    """
    for folder in folders:
        found = list(_below(folder))
        yield from found or [folder]


def _below(folder: Path) -> Iterator[Path]:
    try:
        if not folder.is_dir():
            return
        is_task = any((folder / name).exists() for name in ("task.toml", "instruction.md", "task.yaml"))
        children = [] if is_task else sorted(folder.iterdir())
    except OSError:  # it may not be looked into: reading it as a task says why
        is_task, children = True, []
    if is_task:
        yield folder
    for child in children:
        # Links are followed where the user names one, not below: they may lead in a circle.
        if not child.name.startswith(".") and not child.is_symlink():
            yield from _below(child)


def read_seeds(folders: tuple[Path, ...]) -> tuple[tuple[Seed, ...], tuple[Refusal, ...]]:
    """Reads every task below `folders`; what cannot be read, or is there twice, is refused with its reason."""
    from sandbox.task import Task

    seeds: dict[str, Seed] = {}
    refusals: list[Refusal] = []
    hashes: dict[str, str] = {}
    for folder in find_tasks(folders):
        try:
            task = Task.read(folder)
        except TaskError as error:
            refusals.append(Refusal(folder, str(error)))
            continue
        if task.content_hash in hashes:
            refusals.append(Refusal(folder, f"is the same task as {hashes[task.content_hash]}"))
            continue
        name = lineage_name(task.name)
        if name in seeds:
            name = f"{name}-{task.content_hash[:6]}"
        hashes[task.content_hash] = name
        seeds[name] = Seed(name, task)
    return tuple(seeds[name] for name in sorted(seeds)), tuple(refusals)


def lineage_name(task_name: str) -> str:
    """A short name that fits a folder: the last part of `org/name`, lower case, at most 48 characters."""
    slug = re.sub(r"[^a-z0-9]+", "-", task_name.rsplit("/", 1)[-1].lower()).strip("-")
    if len(slug) > _LONGEST_NAME:
        slug = f"{slug[: _LONGEST_NAME - 7].rstrip('-')}-{hashlib.sha256(slug.encode()).hexdigest()[:6]}"
    return slug or "task"
