"""Mistakes that the author is told to make (`embedded/author?faults=0.3`): one known fault in some of its drafts.

Which one follows from the seed of the request and from the draft, so that a benchmark works it out again; it is written
nowhere, least of all where a gate, a critic or a prompt could read it. The author itself does not know it either: when
a finding comes back it has to work out what it may mean (`diagnosis`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agents.embedded.library import FileContent
from evolution.faults.draft import Draft, DraftFile
from evolution.faults.planting import kinds, plant_in
from evolution.randomness import derive_seed, generator


@dataclass(frozen=True, slots=True)
class Mistake:
    """A draft with a fault in it.

    Attributes:
        kind: The kind of fault (see `evolution.faults`).
        files: The draft's files with it.
    """

    kind: str
    files: Mapping[str, FileContent]


def slip(files: Mapping[str, FileContent], share: float, seed: int) -> Mistake | None:
    """The mistake made in a draft, or `None` when none is made.

    Args:
        files: The draft, every file by its path.
        share: How often a mistake is made.
        seed: Of the request.
    """
    draw = generator("mistake", seed)
    if draw.random() >= share:
        return None
    names = sorted(name for name, fault in kinds().items() if fault.shown_by == "running")
    draw.shuffle(names)
    for name in names:
        draft = Draft({path: DraftFile(file.content, file.executable) for path, file in files.items()})
        if plant_in(draft, name, derive_seed("mistake", seed, name)):
            return Mistake(
                name, {path: FileContent(f.content, executable=f.executable) for path, f in draft.files.items()}
            )
    return None
