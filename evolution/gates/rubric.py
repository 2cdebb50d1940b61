"""Gate `rubric`, static part: what reading the files alone can say of a task's quality."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from evolution.gates.outcomes import finding, judged
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
_WHERE: Final = re.compile(r"[^\s:]+(?::\d+)?(?=:[ \n]| \[)")
"""What a message begins with: a file of the task, with a line where there is one."""


class RubricGate:
    """Applies `RULES`; the verdict's code is that of the first finding, the evidence quotes all."""

    name: Final = "rubric"
    stage: Final = 0
    codes: ClassVar[Mapping[str, str]] = {
        "instruction-short": "the instruction is too short to say what to do and where to put it",
        "instruction-long": "the instruction is so long that data must be in it",
        "mentions-harness": "the instruction tells the solver of the verifier",
        "test-script-empty": "test.sh holds no command",
        "no-reward-written": "nothing in the tests writes a reward",
        "exit-before-reward": "test.sh can end before it has written a reward",
        "stops-before-reward": "under `set -e` a failing command ends test.sh before it has written a reward",
        "solution-touches-verifier": "the reference solution touches the tests or the verifier's logs",
        "unnamed-output": "the tests check a file that the instruction never names",
        "unnamed-field": "the tests read a field that the instruction never names",
        "clock": "solution or tests depend on the time of day",
        "randomness": "solution or tests depend on chance",
        "network": "something is fetched, but the environment has no network",
        "timeout": "a time limit is not positive, or longer than a day",
    }

    async def check(self, candidate: Candidate, sandboxes: Sandboxes) -> Verdict:  # noqa: ARG002 - reads files only
        """Judges the candidate."""
        found = [finding(self.name, one.what, one.message, _where(one)) for one in findings(candidate.task)]
        return judged(self.name, found)


def findings(task: Task) -> tuple[Finding, ...]:
    """Everything the rules find, in the order of the rules."""
    return tuple(found for rule in RULES for found in rule(task))


def _where(found: Finding) -> str:
    begins = _WHERE.match(found.message)
    return begins[0] if begins else ""
