"""From the paths that differ from the image to leftovers; pure, apart from what `questions` asks to be looked up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sandbox.verification.kinds import RULES
from sandbox.verification.leftovers import within
from sandbox.verification.library_rules import libraries_behind
from sandbox.verification.python_rules import is_entry_points, sibling
from sandbox.verification.settings_rules import PYTEST_SECTIONS
from sandbox.verification.tool_rules import guarded_folders, is_tool_folder, later

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sandbox.verification.leftovers import Leftover, Scene

OURS: Final = ("/tests", "/logs", "/solution")
"""Folders of the trial itself, looked at by other means."""

MOST_REPORTED: Final = 200
"""Leftovers of one kind that are reported when they are not suspicious; of suspicious ones, all."""


@dataclass(frozen=True, slots=True)
class Questions:
    """What has to be looked up in the sandbox before changes can be judged.

    Attributes:
        found: Paths of which it matters what lies there.
        contents: Files whose bytes matter.
    """

    found: tuple[str, ...] = ()
    contents: tuple[str, ...] = ()


def questions(scene: Scene) -> Questions:
    """What `classify` wants to know of this scene, beyond the changes themselves."""
    guarded = guarded_folders(scene)
    found: set[str] = set()
    contents: set[str] = set()
    for change in scene.changes.values():
        folder, _, name = change.path.rpartition("/")
        if change.path in guarded:
            found.add(change.path)
        if change.kind == "added":
            if is_tool_folder(folder, scene):
                found.update(scene.path)  # a program is looked for in folders of PATH that are no links
                found.update(later(change.path, scene))
            found.update(libraries_behind(change))
            found.update(filter(None, (sibling(change),)))
        if change.kind != "removed" and (
            name in PYTEST_SECTIONS or name.endswith(".pth") or is_entry_points(change.path)
        ):
            contents.add(change.path)
    return Questions(tuple(sorted(found)), tuple(sorted(contents)))


def classify(scene: Scene) -> tuple[Leftover, ...]:
    """The leftovers among the changes, sorted by kind and path, each once."""
    found: dict[tuple[str, str], Leftover] = {}
    for change in scene.changes.values():
        if any(within(change.path, folder) for folder in OURS):
            continue
        leftover = next(filter(None, (rule(change, scene) for rule in RULES)), None)
        if leftover is None:
            continue
        key = (leftover.kind, leftover.path)
        if key not in found or leftover.suspicious:
            found[key] = leftover
    return tuple(_few(sorted(found.values(), key=lambda leftover: (leftover.kind, leftover.path))))


def _few(leftovers: Iterable[Leftover]) -> Iterable[Leftover]:
    counts: dict[str, int] = {}
    for leftover in leftovers:
        counts[leftover.kind] = counts.get(leftover.kind, 0) + 1
        if leftover.suspicious or counts[leftover.kind] <= MOST_REPORTED:
            yield leftover
