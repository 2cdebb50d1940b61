"""Gates may be anybody's code: one that crashes says so in its own verdict, and stops nothing else."""

from __future__ import annotations

import math
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evolution.gates.errors import GateError
from evolution.gates.outcomes import infrastructure, repeatable
from evolution.gates.panel import CRASHED
from evolution.verdict import Verdict
from sandbox.errors import SandboxError, TaskError

if TYPE_CHECKING:
    from evolution.verdict import Candidate, Gate
    from sandbox.sandboxes import Sandboxes

FRAMES = 4
"""Places of the traceback that are told, the innermost last."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """A gate whose crash is an `infrastructure` verdict of its own.

    Attributes:
        gate: The gate.
    """

    gate: Gate

    @property
    def name(self) -> str:
        """The gate's."""
        return self.gate.name

    @property
    def stage(self) -> int:
        """The gate's."""
        return self.gate.stage

    async def check(self, candidate: Candidate, sandboxes: Sandboxes) -> Verdict:
        """The gate's word.

        Raises:
            TaskError: The task is none; the panel's to judge.
            SandboxError: The sandbox failed; the panel's to ask again.
        """
        try:
            verdict: object = await self.gate.check(candidate, sandboxes)
        except (TaskError, SandboxError):
            raise
        except GateError as error:
            return infrastructure(self.name, CRASHED, repeatable(str(error)))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the gate's and may not stop other tasks
            return infrastructure(self.name, CRASHED, f"the gate crashed; please report it:\n{_told(error)}")
        if not isinstance(verdict, Verdict):
            said = f"the gate answered with {type(verdict).__name__}, not a Verdict (evolution.verdict.Gate)"
            return infrastructure(self.name, CRASHED, said)
        odd = [name for name, value in verdict.measured.items() if not math.isfinite(value)]
        if odd:
            return infrastructure(self.name, CRASHED, f"the gate measured no finite figure: {', '.join(sorted(odd))}")
        # By another name it would stand in another gate's place.
        return verdict if verdict.gate == self.name else verdict.model_copy(update={"gate": self.name})


def _told(error: Exception) -> str:
    """An error with the places it came from, without this machine's folders."""
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    lines = [f"  {'/'.join(Path(frame.filename).parts[-2:])}:{frame.lineno} in {frame.name}" for frame in frames]
    return repeatable("\n".join([*lines, f"{type(error).__name__}: {error}"]))
