"""A trial's result for a person and for a program."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox.trial.result import AgentRun, StepResult, TrialResult
    from sandbox.verification.verify import Verification


def as_json(result: TrialResult) -> dict[str, object]:
    """A result as plain JSON values."""
    return {
        "task": result.task,
        "attempt": result.attempt,
        "agent": result.agent,
        "reward": result.score,
        "class": result.trial_class,
        "rewards": dict(result.reward.rewards) if result.reward else None,
        "findings": [dataclasses.asdict(finding) for finding in result.findings],
        "seconds": round(result.seconds, 3),
        "error_code": result.error_code,
        "error": result.error,
        "steps": [_step(step) for step in result.steps],
    }


def as_text(result: TrialResult, *, named: bool = False) -> str:
    """A result in lines: the reward, then test units and findings; `named` puts the task's name before it."""
    head = f"{result.task} #{result.attempt}: " if named else ""
    if result.score is not None:
        lines = [f"{head}reward {result.score:g}"]
    else:
        lines = [f"{head}no reward ({result.trial_class}, {result.error_code}): {result.error}"]
    lines += [f"  {unit.status:8} {unit.name}" + (f": {unit.message}" if unit.message else "") for unit in result.units]
    for finding in result.findings:
        lines.append("  found    " + ": ".join(part for part in (finding.kind, finding.path, finding.note) if part))
    return "\n".join(lines)


def _step(step: StepResult) -> dict[str, object]:
    return {
        "name": step.name,
        "solution": dataclasses.asdict(step.solution) if step.solution else None,
        "agent": _run(step.run) if step.run else None,
        "verification": _verification(step.verification) if step.verification else None,
        "error": step.error,
    }


def _run(run: AgentRun) -> dict[str, object]:
    return {
        "turns": len(run.turns),
        "usage": dataclasses.asdict(run.usage) if run.usage else None,
        "timed_out": run.timed_out,
        "error": run.error,
        "seconds": round(run.seconds, 3),
    }


def _verification(verification: Verification) -> dict[str, object]:
    return {
        "step": verification.step,
        "rewards": dict(verification.reward.rewards) if verification.reward else None,
        "error_code": verification.error_code,
        "error": verification.error,
        "units": [dataclasses.asdict(unit) for unit in verification.units],
        "stdout": verification.stdout,
        "stderr": verification.stderr,
        "seconds": round(verification.seconds, 3),
    }
