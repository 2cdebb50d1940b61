"""What ties inserted steps to a task that the library does not know."""

from __future__ import annotations

import posixpath
import shlex
from dataclasses import dataclass
from typing import Final, Literal

from agents.embedded import library
from agents.embedded.conversation import CannotError
from agents.embedded.foreign.placing import entry_of, rendered
from agents.embedded.foreign.reading import Foreign, Input
from agents.embedded.foreign.trying import Findings
from agents.embedded.library import ExternalLink
from evolution.sequence import Step

DATA: Final = frozenset({".csv", ".tsv", ".txt", ".ini", ".log", ".lst", ".list", ".conf", ".cfg", ".jsonl", ".ndjson"})
FEWEST_LINES: Final = 4  # fewer could be guessed


@dataclass(frozen=True, slots=True)
class Tie:
    """How inserted steps and the task beside them depend on each other.

    Attributes:
        kind: See the package's docstring.
        path: The file in the image that is sealed or countersigned; "" otherwise.
        sealed: The input, when it is sealed.
        entry: What the first step behind the task hangs on, when a figure leads there.
    """

    kind: Literal["spliced", "sealed", "figure", "countersigned"]
    path: str = ""
    sealed: Input | None = None
    entry: ExternalLink | None = None


def tie_in_front(task: Foreign, beside: Step, findings: Findings) -> Tie:
    """What makes the task's first step depend on steps put before it.

    Raises:
        CannotError: Nothing can.
    """
    if library.knows(beside):
        return Tie("spliced")
    inputs = findings.needed if findings.tried else tuple(task.likely_inputs())
    if inputs:
        return Tie("sealed", inputs[0].path, sealed=inputs[0])
    if task.steps:
        raise CannotError("no input file was found that the tests of this multi-step task hang on")
    return countersigned(task, findings)


def tie_behind(task: Foreign, beside: Step, findings: Findings, seed: int) -> Tie:
    """What makes steps put behind the task depend on its last step.

    Raises:
        CannotError: Nothing can.
    """
    if library.knows(beside):
        (placed,) = rendered((beside,), seed)
        return Tie("spliced", entry=entry_of(placed.checkpoint))
    named = [path for path in task.outputs() if path not in task.shipped and posixpath.splitext(path)[1] in DATA]
    figures = [made for made in findings.stable if made.path in named and made.lines >= FEWEST_LINES]
    if figures:
        made = max(figures, key=lambda each: each.lines)
        command = f"grep -c '[^[:space:]]' {shlex.quote(made.path)}"
        words = f"number of lines of `{made.path}` that are not blank"
        return Tie("figure", made.path, entry=ExternalLink(made.path, words, command, str(made.lines)))
    return countersigned(task, findings)


def countersigned(task: Foreign, findings: Findings) -> Tie:
    """A signature over an output that the instruction names.

    Raises:
        CannotError: It names none, or the solution makes none of them.
    """
    made = {each.path for each in findings.made}
    paths = [path for path in task.outputs() if not findings.tried or path in made]
    if not paths:
        raise CannotError(
            "no output file was found that the instruction names, so nothing can be tied to this task's result"
        )
    return Tie("countersigned", paths[0])
