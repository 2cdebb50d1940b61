"""Gates may be anybody's code, and tasks anybody's files: a gate that crashes says so, and stops nothing else."""

from __future__ import annotations

import math
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evolution.gates.errors import GateError
from evolution.gates.outcomes import infrastructure, repeatable
from evolution.verdict import Verdict
from sandbox.errors import SandboxError, TaskError

if TYPE_CHECKING:
    from evolution.verdict import Candidate, Gate
    from sandbox.sandboxes import Sandboxes

CRASHED: Final = "crashed"
FRAMES: Final = 4
"""Places of the traceback that are told, the innermost last."""


async def guarded(gate: Gate, candidate: Candidate, sandboxes: Sandboxes) -> Verdict:
    """The gate's word; a crash of its is an `infrastructure` verdict.

    Raises:
        TaskError: The task is none; the panel's to judge.
        SandboxError: The sandbox failed; the panel's to ask again.
    """
    try:
        verdict: object = await gate.check(candidate, sandboxes)
    except (TaskError, SandboxError):
        raise
    except GateError as error:
        return infrastructure(gate.name, CRASHED, repeatable(str(error)))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the gate's and may not stop other tasks
        return infrastructure(gate.name, CRASHED, f"the gate crashed; please report it:\n{_told(error)}")
    if not isinstance(verdict, Verdict):
        said = f"the gate answered with {type(verdict).__name__}, not a Verdict (evolution.verdict.Gate)"
        return infrastructure(gate.name, CRASHED, said)
    odd = [name for name, value in verdict.measured.items() if not math.isfinite(value)]
    if odd:
        return infrastructure(gate.name, CRASHED, f"the gate measured no finite figure: {', '.join(sorted(odd))}")
    # By another name it would stand in another gate's place.
    return verdict if verdict.gate == gate.name else verdict.model_copy(update={"gate": gate.name})


def _told(error: Exception) -> str:
    """An error with the places it came from, without this machine's folders."""
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    lines = [f"  {'/'.join(Path(frame.filename).parts[-2:])}:{frame.lineno} in {frame.name}" for frame in frames]
    return repeatable("\n".join([*lines, f"{type(error).__name__}: {error}"]))
