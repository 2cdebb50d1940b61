"""Steps of the library written for a foreign task: everything of theirs lies in a folder of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

from agents.embedded import library
from agents.embedded.conversation import CannotError
from agents.embedded.library import Checkpoint, ExternalLink, RenderedStep
from agents.embedded.library.story import output_rules
from evolution.sequence import Sequence as Steps
from evolution.sequence import Step

FOLDER: Final = "handover"
HOME: Final = f"/srv/{FOLDER}"
OUT: Final = f"{HOME}/out"


def rendered(steps: Sequence[Step], seed: int, entry: ExternalLink | None = None) -> tuple[RenderedStep, ...]:
    """The steps, linked to each other, with `/srv/handover` in place of the library's own folders.

    Raises:
        CannotError: The library cannot write one of them.
    """
    try:
        found = library.render_steps(Steps(steps=tuple(steps)), seed, entry=entry)
    except library.LibraryError as error:
        raise CannotError(str(error)) from error
    return tuple(_moved(step, [each.id for each in steps]) for step in found)


def entry_of(checkpoint: Checkpoint) -> ExternalLink:
    """A placed step's figure as the entry of steps rendered apart from it."""
    return ExternalLink(checkpoint.path, checkpoint.description, checkpoint.command, checkpoint.value)


def rules() -> str:
    """What holds for the results of all inserted steps."""
    lines = output_rules().replace("/app/out", OUT).split("\n")
    kept = [line for line in lines if "/app/data" not in line and "no network" not in line]
    place = f"- Results go to `{OUT}/`, which is there; leave the material that these parts are about as it is."
    return "\n".join([place, *kept])


def _moved(step: RenderedStep, ids: Sequence[str]) -> RenderedStep:
    def move(text: str) -> str:
        # Of the library's folders only what belongs to these steps: the task may have files of its own there.
        for name in ids:
            text = text.replace(f"/app/data/{name}", f"{HOME}/{name}").replace(f"/app/out/{name}-", f"{OUT}/{name}-")
        return text

    point = step.checkpoint
    return dataclasses.replace(
        step,
        environment={path.replace("data/", f"{FOLDER}/", 1): file for path, file in step.environment.items()},
        paragraph=move(step.paragraph),
        solution=move(step.solution),
        tests={
            path: dataclasses.replace(file, content=move(file.content.decode()).encode())
            if path.startswith("checks/")
            else file
            for path, file in step.tests.items()
        },
        output_path=move(step.output_path),
        checkpoint=dataclasses.replace(
            point, path=move(point.path), description=move(point.description), command=move(point.command)
        ),
    )
