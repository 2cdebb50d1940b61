"""Trajectories in ATIF (Agent Trajectory Interchange Format, version 1.8), as Harbor's tools read them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from sandbox.trial.agent import Observation, ToolCall, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.trial.agent import Usage
    from sandbox.trial.result import SolutionRun

VERSION: Literal["ATIF-v1.8"] = "ATIF-v1.8"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), defer_build=True)


class AtifAgent(_Part):
    """Who acted."""

    name: str
    version: str
    model_name: str | None = None


class AtifMetrics(_Part):
    """What one step's model calls took; cached tokens are a part of the prompt's."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cost_usd: float | None = None


class AtifFinalMetrics(_Part):
    """What the whole trajectory took."""

    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int


class AtifToolCall(_Part):
    """One action."""

    tool_call_id: str
    function_name: str
    arguments: dict[str, JsonValue]


class AtifResult(_Part):
    """What came of an action."""

    source_call_id: str | None = None
    content: str


class AtifObservation(_Part):
    """What came back in one step."""

    results: tuple[AtifResult, ...]


class AtifStep(_Part):
    """One turn."""

    step_id: int = Field(ge=1)
    timestamp: str | None = None
    source: Literal["system", "user", "agent"]
    model_name: str | None = None
    message: str
    reasoning_content: str | None = None
    tool_calls: tuple[AtifToolCall, ...] | None = None
    observation: AtifObservation | None = None
    metrics: AtifMetrics | None = None


class AtifTrajectory(_Part):
    """A whole trajectory; step ids count from 1."""

    schema_version: Literal["ATIF-v1.8"] = VERSION
    session_id: str | None = None
    agent: AtifAgent
    steps: tuple[AtifStep, ...] = Field(min_length=1)
    final_metrics: AtifFinalMetrics

    def as_json(self) -> str:
        """The document, without what is not set."""
        return self.model_dump_json(exclude_none=True, indent=2)


def trajectory(agent: AtifAgent, turns: Sequence[Turn], usage: Usage | None, *, session: str = "") -> AtifTrajectory:
    """Turns as a trajectory.

    Args:
        agent: Who acted.
        turns: At least one: an agent that did nothing was still told something.
        usage: What all of it took; may be more than its turns say.
        session: Names the run the trajectory belongs to.
    """
    final = AtifFinalMetrics(total_steps=len(turns))
    if usage is not None:
        final = AtifFinalMetrics(
            total_prompt_tokens=usage.input_tokens,
            total_completion_tokens=usage.output_tokens,
            total_cached_tokens=usage.cached_tokens,
            total_cost_usd=usage.cost,
            total_steps=len(turns),
        )
    steps = tuple(_step(number, turn) for number, turn in enumerate(turns, start=1))
    return AtifTrajectory(session_id=session or None, agent=agent, steps=steps, final_metrics=final)


def solution_turns(instruction: str, solution: SolutionRun | None) -> tuple[Turn, ...]:
    """What the reference solution did, told as turns: it ran one script."""
    told = Turn("user", instruction)
    if solution is None:
        return (told,)
    call = ToolCall("call-1", "bash", {"command": "/solution/solve.sh"})
    ended = "" if solution.exit_code == 0 else f"\n[exit status {solution.exit_code}]"
    seen = Observation(solution.stdout + solution.stderr + ended, call.id)
    return told, Turn("agent", calls=(call,), observations=(seen,))


def _step(number: int, turn: Turn) -> AtifStep:
    calls = tuple(
        AtifToolCall(tool_call_id=call.id, function_name=call.name, arguments=_json(call)) for call in turn.calls
    )
    results = tuple(AtifResult(source_call_id=o.call_id or None, content=_text(o.content)) for o in turn.observations)
    return AtifStep(
        step_id=number,
        timestamp=datetime.fromtimestamp(turn.at, UTC).isoformat() if turn.at else None,
        source=turn.source,
        model_name=turn.model or None,
        message=_text(turn.message),
        reasoning_content=_text(turn.reasoning) or None,
        tool_calls=calls or None,
        observation=AtifObservation(results=results) if results else None,
        metrics=_metrics(turn.usage) if turn.usage else None,
    )


def _metrics(usage: Usage) -> AtifMetrics:
    return AtifMetrics(
        prompt_tokens=usage.input_tokens,
        completion_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        cost_usd=usage.cost,
    )


def _json(call: ToolCall) -> dict[str, JsonValue]:
    """Arguments as JSON values; what is none is written as text, since a record must not fail."""
    return {_text(name): _json_value(value) for name, value in call.arguments.items()}


def _json_value(value: object) -> JsonValue:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return {_text(str(name)): _json_value(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    return _text(str(value))


def _text(text: str) -> str:
    """Text that UTF-8 can hold: what came of undecodable bytes is replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")
