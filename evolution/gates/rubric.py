"""Gate `rubric`, static part: what reading the files alone can say of a task's quality."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evolution.gates.outcomes import accepted, invalid
from evolution.gates.rubric_fields import field_rules
from evolution.gates.rubric_rules import (
    Finding,
    clock_rules,
    instruction_rules,
    network_rules,
    output_rules,
    solution_rules,
    timeout_rules,
    verifier_rules,
)

if TYPE_CHECKING:
    from evolution.verdict import Candidate, Verdict
    from sandbox.sandboxes import Sandboxes
    from sandbox.task import Task

RULES: Final = (
    instruction_rules,
    verifier_rules,
    solution_rules,
    output_rules,
    field_rules,
    clock_rules,
    network_rules,
    timeout_rules,
)
MOST_SHOWN: Final = 10


class RubricGate:
    """Applies `RULES`; the verdict's code is that of the first finding, the evidence quotes all.

    Codes: `rubric/instruction-short`, `rubric/instruction-long`, `rubric/mentions-harness`, `rubric/test-script-empty`,
    `rubric/no-reward-written`, `rubric/exit-before-reward`, `rubric/stops-before-reward`,
    `rubric/solution-touches-verifier`, `rubric/unnamed-output`, `rubric/unnamed-field`, `rubric/clock`,
    `rubric/randomness`, `rubric/network`, `rubric/timeout`.
    """

    name: Final = "rubric"
    stage: Final = 0

    async def check(self, candidate: Candidate, sandboxes: Sandboxes) -> Verdict:  # noqa: ARG002 - reads files only
        """Judges the candidate."""
        found = findings(candidate.task)
        if not found:
            return accepted(self.name)
        shown = [f"[{finding.what}] {finding.message}" for finding in found[:MOST_SHOWN]]
        more = len(found) - MOST_SHOWN
        return invalid(self.name, found[0].what, "\n".join(shown + ([f"and {more} more"] if more > 0 else [])))


def findings(task: Task) -> tuple[Finding, ...]:
    """Everything the rules find, in the order of the rules."""
    return tuple(finding for rule in RULES for finding in rule(task))
