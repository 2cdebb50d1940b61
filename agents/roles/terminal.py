"""Agents that work in a task's terminal: the solver, and the attacker who tries to be rewarded without the work.

Both are trial agents (`sandbox.trial.agent.Agent`), so that the trial runner, the gates and training use them alike.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import StructuredTool
from pydantic import Field

from agents.errors import ModelError
from agents.excerpt import excerpt, visible
from agents.prompts import prompt
from agents.roles.conversation_key import conversation_key
from agents.roles.session import RoleSession, SessionLimits, Submission
from agents.roles.tool_calls import read_calls
from agents.tools import LONGEST_COMMAND, OUTPUT_LIMIT, Arguments
from evolution.errors import JournalError
from sandbox.trial.agent import AgentUnavailableError, Observation, ToolCall, Turn, Usage

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.tools import BaseTool

    from agents.model import ChatFactory, ModelGateway
    from sandbox.trial.agent import Agent, AgentContext, AgentSandbox

Kind = Literal["solver", "attacker"]
LIMITS = SessionLimits(turns=60, tokens=3_000_000)


class RunCommand(Arguments):
    """Arguments of `run`."""

    command: Annotated[str, Field(min_length=1, description="a bash command")]
    timeout: Annotated[int, Field(ge=1, le=LONGEST_COMMAND, description="seconds after which it is killed")] = 120


class SubmitWork(Arguments):
    """Arguments of `submit`."""

    summary: Annotated[str, Field(description="what you did")] = ""


class TerminalAgents:
    """Makes agents that talk to one model (`evolution.gates.roles.AgentMaker`).

    Args:
        gateway: Where the model comes from.
        model: Model string, chat model or factory (see `ModelGateway.chat`).
        kind: `solver` does the work, `attacker` tries to be rewarded without.
        limits: What one step of a task may use.
    """

    def __init__(
        self,
        gateway: ModelGateway,
        model: str | BaseChatModel | ChatFactory,
        *,
        kind: Kind = "solver",
        limits: SessionLimits = LIMITS,
    ) -> None:
        self._gateway, self._model, self._kind, self._limits = gateway, model, kind, limits

    @property
    def name(self) -> str:
        """The model string, or what the model calls itself."""
        return self._model if isinstance(self._model, str) else type(self._model).__name__

    def make(self, *, seed: int, hint: str = "") -> Agent:
        """See `AgentMaker.make`."""
        return TerminalAgent(self, seed, hint)

    async def work(self, agent: TerminalAgent, instruction: str, sandbox: AgentSandbox, context: AgentContext) -> None:
        """One step of a task.

        Raises:
            AgentUnavailableError: The model could not be had, or its answer not be kept.
            RoleFailedError: A limit was met; what was done until then counts.
        """
        recorder = TurnRecorder(context)
        system = prompt(__package__, f"{self._kind}.system.md")
        hint = f"\n\n{prompt(__package__, 'solver.hint.md', hint=agent.hint)}" if agent.hint else ""
        assignment = prompt(__package__, "solver.assignment.md", instruction=instruction, hint=hint)
        # The image, too: tasks of one instruction may differ in what they are about.
        image = f"{sandbox.image.reference} {sandbox.image.workdir} {sorted(sandbox.image.env.items())}"
        start = (self.name, self._gateway.address, str(agent.seed), image, context.step, system, assignment)
        try:
            model = self._gateway.chat(
                self._model, role=self._kind, call=conversation_key(self._kind, *start), seed=agent.seed
            )
        except ModelError as error:
            raise AgentUnavailableError(str(error)) from error
        session = RoleSession(
            model,
            role=self._kind,
            system=system,
            assignment=assignment,
            tools=[_run_tool(sandbox)],
            submission=Submission("submit", "Says that the work is done, and ends it.", SubmitWork, _summary),
            limits=self._limits,
            listen=recorder.heard,
        )
        try:
            await session.run()
        except (ModelError, JournalError) as error:
            raise AgentUnavailableError(str(error)) from error
        finally:
            recorder.finish()


class TerminalAgent:
    """One agent for one trial.

    Args:
        makers: Who made it.
        seed: Number for its model.
        hint: What it is told beside the instruction.
    """

    version = ""

    def __init__(self, makers: TerminalAgents, seed: int, hint: str = "") -> None:
        self._makers, self.seed, self.hint = makers, seed, hint
        self.name = makers.name
        self.model = makers.name

    async def act(self, instruction: str, sandbox: AgentSandbox, context: AgentContext) -> None:
        """See `Agent.act`."""
        await self._makers.work(self, instruction, sandbox, context)


class TurnRecorder:
    """Turns the messages of a conversation into the turns of a trajectory, each recorded once it is whole.

    Args:
        context: Where turns are recorded.
    """

    def __init__(self, context: AgentContext) -> None:
        self._context = context
        self._turn: Turn | None = None
        self._number = 0

    def heard(self, message: BaseMessage) -> None:
        """Takes the next message."""
        if isinstance(message, AIMessage):
            self.finish()
            self._number += 1
            # As the conversation reads them: calls without an id get one, calls that cannot be read are among them.
            calls: dict[str, ToolCall] = {}
            for call in read_calls(message, self._number):
                calls.setdefault(call.id, ToolCall(call.id, call.name, call.args))
            self._turn = Turn(
                "agent",
                message=str(message.text),
                reasoning=str(message.additional_kwargs.get("reasoning_content") or ""),
                calls=tuple(calls.values()),
                usage=_usage(message),
            )
        elif isinstance(message, ToolMessage) and self._turn is not None:
            known = {call.id for call in self._turn.calls}
            seen = Observation(str(message.content), message.tool_call_id if message.tool_call_id in known else "")
            self._turn = replace(self._turn, observations=(*self._turn.observations, seen))

    def finish(self) -> None:
        """Records the turn under way."""
        if self._turn is not None:
            self._context.record(self._turn)
            self._turn = None


def _run_tool(sandbox: AgentSandbox) -> BaseTool:
    async def run(command: str, timeout: int = 120) -> str:
        ran = await sandbox.exec(["bash", "-c", command], timeout=timeout)
        ending = f"timed out after {ran.seconds:.0f} s, killed" if ran.timed_out else f"exit code: {ran.exit_code}"
        parts = [ending]
        for name, text in (("stdout", ran.text), ("stderr", ran.error_text)):
            if text:
                parts.append(f"{name}:\n{excerpt(visible(text), OUTPUT_LIMIT, hint='look at parts of it')}")
        return "\n".join(parts)

    return StructuredTool.from_function(
        coroutine=run,
        name="run",
        description="Runs a bash command on the machine; returns exit code, stdout and stderr.",
        args_schema=RunCommand,
    )


def _summary(given: SubmitWork) -> str:
    return given.summary


def _usage(message: AIMessage) -> Usage | None:
    counted = message.usage_metadata
    if counted is None:
        return None
    cached = (counted.get("input_token_details") or {}).get("cache_read", 0)
    return Usage(counted["input_tokens"], cached, counted["output_tokens"])
