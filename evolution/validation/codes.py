"""Every code that a finding can have, with what it means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.gates.panel import CODES as ANY_GATE
from evolution.gates.registry import BUILT_IN, gate_class
from evolution.validation.report import READING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def catalogue(gates: Iterable[str] = BUILT_IN) -> dict[str, str]:
    """Meanings by code: of folders that are no tasks, of each gate in turn, and `<gate>/…` of what any gate may say.

    Raises:
        GateError: There is no such gate.
    """
    found = {READING: "the folder is no task that can be read"}
    for name in gates:
        kind = gate_class(name)
        found |= {f"{kind.name}/{what}": meaning for what, meaning in getattr(kind, "codes", {}).items()}
    return found | {f"<gate>/{what}": meaning for what, meaning in ANY_GATE.items()}


def code_lines(gates: Iterable[str] = BUILT_IN) -> Iterator[str]:
    """The catalogue, a line for each code.

    Raises:
        GateError: There is no such gate.
    """
    found = catalogue(gates)
    width = max(map(len, found))
    yield from (f"{code:{width}}  {' '.join(meaning.split())}" for code, meaning in found.items())
