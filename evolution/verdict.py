"""What a gate says of a candidate, and what it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from evolution.plan import Plan
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task


class VerdictClass(StrEnum):
    """The four outcomes, never mixed up (architecture page)."""

    ACCEPTED = "accepted"
    INVALID = "invalid"
    MISCALIBRATED = "miscalibrated"
    INFRASTRUCTURE = "infrastructure"


class Finding(BaseModel):
    """One thing that a gate found wrong.

    Attributes:
        code: Stable, `<gate>/<what>`.
        message: What is wrong and what was seen; a person or the evolver can act on it.
        where: File of the task, with a line where there is one ("tests/test.sh:12"), or path in the sandbox; "" for the
            whole task.
        suppressed: Why somebody decided that it does not count here; "" when it counts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str
    message: str
    where: str = ""
    suppressed: str = ""


class Verdict(BaseModel):
    """One gate's word on one candidate.

    Attributes:
        gate: The gate's name.
        passed: Whether the candidate may go on.
        verdict_class: `accepted` when passed, else whose fault it is.
        code: Stable finding code, `<gate>/<what>` ("noop/passes", "oracle/below-one"); "" when passed.
        evidence: What a person or the evolver can act on; deterministic: no times, host names or host paths.
        findings: All that it found, where it looks for more than one thing; suppressed ones too.
        measured: Figures it took on the way (runs, shares, bounds), by name.
        seconds: Wall-clock seconds the gate took; left out of releases.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    gate: str
    passed: bool
    verdict_class: VerdictClass
    code: str = ""
    evidence: str = ""
    findings: tuple[Finding, ...] = ()
    measured: dict[str, float] = {}
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a gate is shown: the task, and where it came from when it is a child.

    Attributes:
        task: The environment to judge.
        parent: The environment it was evolved from; `None` for a seed.
        plan: The plan it was evolved by; `None` for a seed.
    """

    task: Task
    parent: Task | None = None
    plan: Plan | None = None


class Gate(Protocol):
    """Proves one thing about a candidate."""

    @property
    def name(self) -> str:
        """Its name in verdicts, on the command line and in manifests."""
        ...

    @property
    def stage(self) -> int:
        """When it is asked: stages rise, and those of one stage run in parallel once all before them have passed.

        0 reads files only, 1 builds, 2 is the paper's three in parallel, 3 runs more, 4 asks a model, 5 is calibration.
        """
        ...

    async def check(self, candidate: Candidate, sandboxes: Sandboxes) -> Verdict:
        """Judges the candidate.

        A `SandboxError` that is not the task's fault may be raised; the panel makes an `infrastructure` verdict of it.
        """
        ...
