"""What the kinds of faults here hold on to: scripts, results, tests, and what there is to give away."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evolution.faults.fault import Fault

FAULTS: tuple[Fault, ...] = ()
"""No fault of its own; whoever looks for faults in this room may look here, too."""
