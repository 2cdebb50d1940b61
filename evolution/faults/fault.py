"""What a kind of fault is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Literal, TypeAlias

from evolution.faults.draft import Draft

Planter: TypeAlias = Callable[[Draft, Random], bool]
"""Plants a fault in a draft and says whether it could: `False` where the task has nothing for it to hold on to; then
the draft is as it was. All choices come from the generator."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault.

    Attributes:
        kind: Stable name, as "flaky-time".
        summary: What is wrong with the task then, in a line.
        shown_by: `running` where running the task can show it; `reading` where only someone who reads can.
        plant: Plants it.
        independent: Whether it was written by someone who had not read the gates.
    """

    kind: str
    summary: str
    shown_by: Literal["running", "reading"]
    plant: Planter
    independent: bool = False
