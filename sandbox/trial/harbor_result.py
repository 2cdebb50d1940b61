"""A trial's and a job's result in the form that Harbor's own models load; nothing of Harbor is imported.

Where both have a word for something, Harbor's is used: its error classes by name decide there what counts.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from sandbox.trial.result import AGENT_UNAVAILABLE, IMAGE, SANDBOX, SETUP, TASK, UNSUPPORTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.trial.agent import Usage
    from sandbox.trial.result import AgentRun, SolutionRun, Span, StepResult, TrialResult

NAMESPACE: Final = uuid.UUID("6d3c3c52-6d7e-5b0e-9a56-2f6d1c8f7a10")
EXCEPTIONS: Final[Mapping[str, str]] = {
    "missing": "RewardFileNotFoundError",
    "unparsable": "VerifierOutputParseError",
    "scalar": "VerifierOutputParseError",
    "not-a-file": "VerifierOutputParseError",
    "no-score": "VerifierOutputParseError",
    "timeout": "VerifierTimeoutError",
    "no-test-script": "FileNotFoundError",
    SETUP: "HealthcheckError",
    TASK: "ValueError",
    IMAGE: "SandboxBuildFailedError",
    UNSUPPORTED: "ServiceOperationsUnsupportedError",
    SANDBOX: "RuntimeRequestError",
    AGENT_UNAVAILABLE: "AgentAuthenticationError",
}
"""Our error codes, and the error class whose treatment in Harbor (graded, retried, a valid reward) comes nearest."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), defer_build=True)


class HarborTask(_Record):
    """Which task: a folder."""

    path: Path


class HarborAgentConfig(_Record):
    """Which agent was asked for."""

    name: str | None = None
    import_path: str | None = None
    kwargs: dict[str, JsonValue] = {}


class HarborEnvironmentConfig(_Record):
    """Which environment it ran in: ours, through its Harbor class."""

    import_path: str = "sandbox.harbor:SandboxEnvironment"
    kwargs: dict[str, JsonValue] = {}


class HarborConfig(_Record):
    """What runs the trial again in Harbor."""

    task: HarborTask
    trial_name: str
    trials_dir: Path
    agent: HarborAgentConfig
    environment: HarborEnvironmentConfig


class HarborModel(_Record):
    """A model."""

    name: str
    provider: str | None = None


class HarborAgent(_Record):
    """Who acted."""

    name: str
    version: str
    model_info: HarborModel | None = None


class HarborUsage(_Record):
    """What the agent's model calls took."""

    n_input_tokens: int | None = None
    n_cache_tokens: int | None = None
    n_output_tokens: int | None = None
    cost_usd: float | None = None


class HarborRewards(_Record):
    """What the verifier gave."""

    rewards: dict[str, float]


class HarborException(_Record):
    """What went wrong."""

    exception_type: str
    exception_message: str
    exception_traceback: str = ""
    occurred_at: datetime


class HarborTiming(_Record):
    """From when to when."""

    started_at: datetime
    finished_at: datetime


class HarborStep(_Record):
    """One step of a multi-step task."""

    step_name: str
    agent_result: HarborUsage | None = None
    verifier_result: HarborRewards | None = None
    exception_info: HarborException | None = None
    agent_execution: HarborTiming | None = None
    verifier: HarborTiming | None = None


class HarborTrial(_Record):
    """A trial's `result.json`."""

    schema_version: Literal[1] = 1
    id: uuid.UUID
    task_name: str
    trial_name: str
    trial_uri: str
    task_id: HarborTask
    task_checksum: str
    config: HarborConfig
    agent_info: HarborAgent
    agent_result: HarborUsage | None = None
    verifier_result: HarborRewards | None = None
    exception_info: HarborException | None = None
    started_at: datetime
    finished_at: datetime
    environment_setup: HarborTiming | None = None
    agent_execution: HarborTiming | None = None
    verifier: HarborTiming | None = None
    step_results: tuple[HarborStep, ...] | None = None


class HarborEvals(_Record):
    """What the trials of one agent on one set of tasks came to."""

    n_trials: int
    n_errors: int
    metrics: tuple[dict[str, JsonValue], ...] = ()
    reward_stats: dict[str, dict[float, tuple[str, ...]]] = {}
    exception_stats: dict[str, tuple[str, ...]] = {}


class HarborStats(_Record):
    """What all trials came to."""

    n_completed_trials: int
    n_errored_trials: int
    evals: dict[str, HarborEvals]


class HarborJob(_Record):
    """A job's `result.json`."""

    schema_version: Literal[1] = 1
    id: uuid.UUID
    started_at: datetime
    finished_at: datetime
    n_total_trials: int
    stats: HarborStats


def harbor_trial(result: TrialResult, config: HarborConfig, agent: HarborAgent, checksum: str) -> HarborTrial:
    """A trial's result as Harbor would have written it."""
    now = datetime.now(UTC)
    whole = _timing(result.whole)
    several = [step.name for step in result.steps] != ["main"] and bool(result.steps)
    only = result.steps[0] if result.steps and not several else None
    name = config.trial_name
    return HarborTrial(
        id=uuid.uuid5(NAMESPACE, f"{checksum} {result.agent} {result.attempt}"),
        task_name=result.task,
        trial_name=name,
        trial_uri=(config.trials_dir / name).absolute().as_uri(),
        task_id=config.task,
        task_checksum=checksum,
        config=config,
        agent_info=agent,
        agent_result=None if several else _usage(only),
        verifier_result=HarborRewards(rewards=dict(result.reward.rewards)) if result.reward is not None else None,
        exception_info=None if several else _exception(result, only),
        started_at=whole.started_at if whole else now,
        finished_at=whole.finished_at if whole else now,
        environment_setup=_timing(result.starting),
        agent_execution=_timing(only.acting) if only else None,
        verifier=_timing(only.verifying) if only else None,
        step_results=tuple(_step(step) for step in result.steps) if several else None,
    )


def harbor_job(trials: Sequence[HarborTrial]) -> HarborJob:
    """The result of several trials: what Harbor's own statistics would say of them."""
    groups: dict[str, list[HarborTrial]] = {}
    for trial in trials:
        model = f"__{trial.agent_info.model_info.name}" if trial.agent_info.model_info else ""
        groups.setdefault(f"{trial.agent_info.name}{model}__adhoc", []).append(trial)
    return HarborJob(
        id=uuid.uuid5(NAMESPACE, " ".join(str(trial.id) for trial in trials)),
        started_at=min(trial.started_at for trial in trials),
        finished_at=max(trial.finished_at for trial in trials),
        n_total_trials=len(trials),
        stats=HarborStats(
            n_completed_trials=len(trials),
            n_errored_trials=sum(1 for trial in trials if _exceptions(trial)),
            evals={key: _evals(group) for key, group in groups.items()},
        ),
    )


def _evals(trials: Sequence[HarborTrial]) -> HarborEvals:
    rewards: dict[str, dict[float, tuple[str, ...]]] = {}
    exceptions: dict[str, tuple[str, ...]] = {}
    for trial in trials:
        for key, value in (trial.verifier_result.rewards if trial.verifier_result else {}).items():
            of_key = rewards.setdefault(key, {})
            of_key[value] = (*of_key.get(value, ()), trial.trial_name)
        for kind in sorted(_exceptions(trial)):
            exceptions[kind] = (*exceptions.get(kind, ()), trial.trial_name)
    return HarborEvals(
        n_trials=sum(1 for trial in trials if trial.verifier_result),
        n_errors=sum(1 for trial in trials if _exceptions(trial)),
        reward_stats=rewards,
        exception_stats=exceptions,
    )


def _exceptions(trial: HarborTrial) -> set[str]:
    found = (trial.exception_info, *(step.exception_info for step in trial.step_results or ()))
    return {info.exception_type for info in found if info is not None}


def _step(step: StepResult) -> HarborStep:
    reward = step.verification.reward if step.verification else None
    return HarborStep(
        step_name=step.name,
        agent_result=_usage(step),
        verifier_result=HarborRewards(rewards=dict(reward.rewards)) if reward is not None else None,
        exception_info=_step_exception(step),
        agent_execution=_timing(step.acting),
        verifier=_timing(step.verifying),
    )


def _exception(result: TrialResult, only: StepResult | None) -> HarborException | None:
    """What ended the trial; else how its agent ended. Where both went wrong, Harbor keeps the first, the agent's."""
    of_step = _step_exception(only) if only else None
    if of_step is not None or not result.error_code:
        return of_step
    return _raised(EXCEPTIONS.get(result.error_code, "RuntimeError"), result.error, result.whole)


def _step_exception(step: StepResult) -> HarborException | None:
    acted: SolutionRun | AgentRun | None = step.run or step.solution
    if acted is not None and acted.timed_out:
        return _raised("AgentTimeoutError", "the agent's time was up", step.acting)
    if step.run is not None and step.run.error:
        return _raised(step.run.error_type, step.run.error, step.acting)
    if step.verification is None:
        return _raised(EXCEPTIONS[SETUP], step.error, step.acting)
    if step.verification.error_code:
        kind = EXCEPTIONS.get(step.verification.error_code, "RuntimeError")
        return _raised(kind, step.verification.error, step.verifying)
    return None


def _raised(kind: str, message: str, when: Span | None) -> HarborException:
    at = datetime.fromtimestamp(when.ended, UTC) if when else datetime.now(UTC)
    return HarborException(exception_type=kind, exception_message=message, occurred_at=at)


def _usage(step: StepResult | None) -> HarborUsage | None:
    if step is None or step.acting is None:
        return None
    usage: Usage | None = step.run.usage if step.run else None
    if usage is None:
        return HarborUsage()
    return HarborUsage(
        n_input_tokens=usage.input_tokens,
        n_cache_tokens=usage.cached_tokens,
        n_output_tokens=usage.output_tokens,
        cost_usd=usage.cost,
    )


def _timing(span: Span | None) -> HarborTiming | None:
    if span is None:
        return None
    return HarborTiming(
        started_at=datetime.fromtimestamp(span.began, UTC), finished_at=datetime.fromtimestamp(span.ended, UTC)
    )
