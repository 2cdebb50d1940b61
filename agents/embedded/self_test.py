"""Trying a draft out before it is handed in: the environment's files put in place, the solution and the tests run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agents.embedded.diagnosis import Finding
from agents.embedded.foreign.sealing import program
from agents.embedded.tools import Part, Ran, runs

LIMIT: Final = 240
_LONGEST: Final = 4000
_GATES: Final[Mapping[str, str]] = {"noop": "noop", "oracle": "oracle", "oracle-again": "rerun"}
_MOST_FOR_NOTHING: Final = 0.5


def self_test() -> Part[tuple[Finding, ...]]:
    """What goes wrong when the draft at hand is run; nothing where it cannot be (no root in this sandbox)."""
    (answer,) = yield from runs((program("self_test.sh").decode(),), timeout=LIMIT)
    return tuple(findings_of(answer))


def findings_of(answer: Ran) -> list[Finding]:
    """Reads what `programs/self_test.sh` printed."""
    if answer.status is None:
        return [Finding("oracle/timed-out", answer.text[-_LONGEST:])]
    found = []
    blocks = answer.text.split("\n== ")[1:]
    for block in blocks:
        head, _, said = block.partition("\n")
        name, _, reward = head.partition(" ")
        if name not in _GATES:  # a script printed a line of this kind itself
            continue
        if not _is_as_wanted(name, reward):
            found.append(Finding(f"{_GATES[name]}/self-test", f"reward {reward or 'none'}\n{said[-_LONGEST:]}"))
    return found


def _is_as_wanted(run: str, reward: str) -> bool:
    try:
        value = float(reward)
    except ValueError:
        return False
    return 0 <= value < _MOST_FOR_NOTHING if run == "noop" else value == 1
