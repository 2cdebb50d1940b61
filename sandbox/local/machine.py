"""The machine as an image: what a task's environment has to be already, since nothing of it is built here."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.errors import UnsupportedTaskError
from sandbox.image.bases import BaseMap, recipe_of
from sandbox.image.dockerfile import Place
from sandbox.protocol import Image
from sandbox.task.files import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.image.dockerfile import Entry, Recipe
    from sandbox.task import Task

REFERENCE = "local"
_FILE = "environment/Dockerfile"


def machine_image(task: Task, base: Sequence[str], *, as_it_stands: bool) -> tuple[Image, tuple[Finding, ...]]:
    """The machine as the image of a task, and what could not be made sure of.

    Every file that the task's Dockerfile copies has to lie where it belongs already, with the same bytes. What else the
    Dockerfile does (`FROM`, `RUN`, unpacked archives) cannot be seen afterwards: that is told as a finding.

    Args:
        task: The task.
        base: As for other back ends; only asked for images by name.
        as_it_stands: Take the machine even where files are missing; told as findings then.

    Raises:
        ImageError: The environment is wrong.
        UnsupportedTaskError: The machine is not what the task asks for: names the first file that is not there.
    """
    recipe = recipe_of(task, BaseMap.parse(base))
    absent = [path for path in map(_absent, _files(recipe)) if path]
    if absent and not as_it_stands:
        raise UnsupportedTaskError(
            f"{task.name}: the sandbox `local` builds nothing, and {absent[0]} of the task's Dockerfile is not on this "
            f"machine as the task has it ({len(absent)} such). Run inside the task's own container, take another "
            "sandbox (--sandbox docker), or take the machine as it stands (option as_it_stands=True)"
        )
    findings = [Finding(_FILE, "", f"{path}: not on this machine as the task has it") for path in absent]
    findings.append(
        Finding(_FILE, "", "not built: the machine is taken as it stands, and may differ from what this file makes")
    )
    image = Image(REFERENCE, dict(recipe.env), recipe.workdir, recipe.user, base=REFERENCE)
    return image, tuple(findings)


def _files(recipe: Recipe) -> list[Entry]:
    placed = {
        entry.target: entry
        for step in recipe.steps
        if isinstance(step, Place)
        for entry in step.entries
        if entry.kind in ("file", "single")
    }
    return list(placed.values())


def _absent(entry: Entry) -> str:
    """The path of a file that is not there or has other bytes; "" when all is well."""
    path = Path(entry.target)
    if entry.kind == "single" and path.is_dir():
        path /= entry.source.rpartition("/")[2]
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return str(path)
    return "" if digest == entry.sha256 else str(path)
