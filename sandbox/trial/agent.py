"""What an agent is to a trial: a small protocol, what it is given, and what it tells of its work.

An agent acts once for each step of a task. It gets the step's instruction, an `AgentSandbox` (the machine, entered as
the task's agent user with the task's variables, and never past its time) and an `AgentContext` (limits going in, turns
and token counts coming out). What it records is kept whatever happens to it later: a time-out loses no turn.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from sandbox.protocol import ExecResult, Image, Limits, Network, Sandbox, Stream

Source = Literal["system", "user", "agent"]


class AgentUnavailableError(Exception):
    """The agent could not act for a reason that is not its own: no key, the model's provider is down.

    A trial that meets it is not verified and counts as infrastructure, never as the agent's failure.
    """


@dataclass(frozen=True, slots=True)
class Usage:
    """What model calls took.

    Attributes:
        input_tokens: Tokens read, cached ones included.
        cached_tokens: Those of `input_tokens` that came from a cache.
        output_tokens: Tokens written.
        cost: US dollars; `None` where nobody knows.
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None

    def __add__(self, other: Usage) -> Usage:
        known = [usage.cost for usage in (self, other) if usage.cost is not None]
        return Usage(
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.output_tokens + other.output_tokens,
            sum(known) if known else None,
        )


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One action of the agent.

    Attributes:
        id: Unique within its turn.
        name: The tool.
        arguments: JSON values by name.
    """

    id: str
    name: str
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observation:
    """What came back.

    Attributes:
        content: As the agent saw it.
        call_id: The call of the same turn that it answers; "" where it answers none.
    """

    content: str
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One entry of a trajectory.

    Attributes:
        source: Who speaks.
        message: What is said; may be "".
        reasoning: The agent's thinking, where it shows it.
        calls: The agent's actions.
        observations: What came of them.
        model: The model that spoke; "" for the agent's usual one.
        usage: What the turn's model calls took; `None` where no model was asked.
        at: Unix time; 0 lets `AgentContext.record` fill it in.
    """

    source: Source
    message: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    observations: tuple[Observation, ...] = ()
    model: str = ""
    usage: Usage | None = None
    at: float = 0.0

    def __post_init__(self) -> None:
        if self.source != "agent" and (self.calls or self.reasoning or self.model or self.usage):
            raise ValueError(f"only a turn of an agent has calls, reasoning, model or usage, not the {self.source}'s")
        ids = [call.id for call in self.calls]
        if len(set(ids)) != len(ids):
            raise ValueError(f"two calls of one turn have the same id: {', '.join(ids)}")
        strangers = [seen.call_id for seen in self.observations if seen.call_id and seen.call_id not in ids]
        if strangers:
            raise ValueError(f"an observation answers the call {strangers[0]!r}, which is not in its turn")


class AgentSandbox:
    """The sandbox as an agent sees it: its user, variables and working directory are the task's, its time is limited.

    Nothing of the sandbox's management is here. Files go in and out as the sandbox's root.

    Args:
        sandbox: The machine.
        context: Whose time is running.
        user: Who commands run as where they name nobody; `None` is the image's user.
        env: Variables on top of the image's.
        cwd: Where commands start that say nothing; `None` is the image's folder.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        context: AgentContext,
        *,
        user: str | int | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> None:
        self.sandbox = sandbox
        self.context = context
        self.user = user
        self.env = dict(env or {})
        self.cwd = cwd

    @property
    def image(self) -> Image:
        """The image it was started from."""
        return self.sandbox.image

    @property
    def limits(self) -> Limits:
        """What it may use."""
        return self.sandbox.limits

    @property
    def network(self) -> Network:
        """What it may reach."""
        return self.sandbox.network

    @property
    def workdir(self) -> str:
        """Where commands start that name no folder."""
        return self.cwd or self.sandbox.image.workdir

    async def exec(
        self,
        command: str | Sequence[str],
        *,
        stdin: bytes | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | int | None = None,
        timeout: float | None = None,
        on_output: Callable[[Stream, bytes], None] | None = None,
    ) -> ExecResult:
        """Runs a command to its end; see `Sandbox.exec`. It never outlasts the agent's own time.

        Raises:
            SandboxLostError: The sandbox is gone.
            UnsupportedTaskError: The user cannot be had on this back end.
        """
        asked = self.limits.timeout if timeout is None else timeout
        left = self.context.seconds_left()
        return await self.sandbox.exec(
            command,
            stdin=stdin,
            cwd=cwd or self.cwd,
            env={**self.env, **(env or {})},
            user=self.user if user is None else user,
            timeout=asked if left is None else min(asked, left),
            on_output=on_output,
        )

    async def upload(self, source: Path, target: str) -> None:
        """See `Sandbox.upload`."""
        await self.sandbox.upload(source, target)

    async def download(self, source: str, target: Path, *, max_bytes: int = 1 << 30) -> None:
        """See `Sandbox.download`."""
        await self.sandbox.download(source, target, max_bytes=max_bytes)

    async def read_file(self, path: str, *, max_bytes: int = 1 << 20) -> bytes:
        """See `Sandbox.read_file`."""
        return await self.sandbox.read_file(path, max_bytes=max_bytes)

    async def write_file(self, path: str, content: bytes, *, mode: int = 0o644) -> None:
        """See `Sandbox.write_file`."""
        await self.sandbox.write_file(path, content, mode=mode)


class AgentContext:
    """What an agent may know of its step, and where it records what it did.

    Attributes:
        step: The step's name; "main" in a single-step task.
        number: Which step it is, from 1.
        steps: How many the task has.
        timeout: Seconds the agent has for this step; `None` is no limit.
        logs: A folder on this machine for the agent's own logs; kept with the trial where trials are kept.
    """

    def __init__(self, step: str, *, number: int, steps: int, timeout: float | None, logs: Path) -> None:
        self.step = step
        self.number = number
        self.steps = steps
        self.timeout = timeout
        self.logs = logs
        self._began = time.monotonic()
        self._turns: list[Turn] = []
        self._usage: Usage | None = None
        self._ran_out = False

    def seconds_left(self) -> float | None:
        """Seconds until the agent is stopped, never below 0; `None` without a limit."""
        return None if self.timeout is None else max(0.0, self._began + self.timeout - time.monotonic())

    def record(self, turn: Turn) -> None:
        """Adds a turn to the trajectory, and its usage to the count."""
        self._turns.append(turn if turn.at else replace(turn, at=time.time()))
        if turn.usage is not None:
            self.spend(turn.usage)

    def spend(self, usage: Usage) -> None:
        """Counts model calls that belong to no turn: a summary, a retry."""
        self._usage = usage if self._usage is None else self._usage + usage

    def ran_out_of_time(self) -> None:
        """Says that the agent stopped because its time was up; a finding tells of it, and its work is verified."""
        self._ran_out = True

    @property
    def is_out_of_time(self) -> bool:
        """Whether `ran_out_of_time` was called."""
        return self._ran_out

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The trajectory so far."""
        return tuple(self._turns)

    @property
    def usage(self) -> Usage | None:
        """All that was spent so far; `None` when no model was asked."""
        return self._usage


@runtime_checkable
class Agent(Protocol):
    """Acts on a task. One instance serves one trial, all of its steps.

    An attribute `model`, where there is one, names the usual model in the trajectory. A method
    `async prepare(sandbox: AgentSandbox)`, where there is one, runs before the first step, in time of its own: what it
    raises means that the agent is unavailable.

    Attributes:
        name: For results.
        version: Likewise; "" is no version.
    """

    name: str
    version: str

    async def act(self, instruction: str, sandbox: AgentSandbox, context: AgentContext) -> None:
        """Works on one step until it is done.

        Whatever it raises ends its work on the step, is a finding (`agent-error`), and what it did until then is
        verified. It is cancelled when its time is up (`agent-timeout`), and verified likewise.

        Raises:
            AgentUnavailableError: It cannot act; nothing is verified.
            SandboxError: The sandbox failed under it; nothing is verified.
        """
        ...


@runtime_checkable
class PreparedAgent(Protocol):
    """An agent that installs or starts something before the first step."""

    async def prepare(self, sandbox: AgentSandbox) -> None:
        """Gets ready, as the agent's user unless it says otherwise."""
        ...
