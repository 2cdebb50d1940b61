"""Instructions that leave out what a solver needs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evolution.faults.fault import Fault
from evolution.faults.known.reading import outputs

if TYPE_CHECKING:
    from random import Random

    from evolution.faults.draft import Draft


def unnamed_output(draft: Draft, random: Random) -> bool:
    """The instruction does not say where the result goes."""
    made = outputs(draft)
    if not made:
        return False
    path = random.choice(made)
    instead = random.choice(("a file of your choice", "the output file", "a report", "the usual place"))
    text = draft.text(draft.instruction)
    base = re.escape(path.rpartition("/")[2])
    changed = re.sub(rf"`?{re.escape(path)}`?", instead, text)
    changed = re.sub(rf"`?(?<![\w/.-]){base}(?![\w-])`?", instead, changed)
    if changed == text:
        return False
    draft.write(draft.instruction, changed)
    return True


FAULTS = (
    Fault("unnamed-output", "the instruction does not name the file that the tests read", "reading", unnamed_output),
)
