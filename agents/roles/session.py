"""One conversation of a role: model call, tools, model call, … until it hands in work that holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import BaseModel, Field, ValidationError

from agents.errors import ContentPolicyError, ContextOverflowError, RoleDeclinedError, RoleFailedError
from agents.excerpt import excerpt
from agents.roles.tool_calls import ToolRequest, as_history, read_calls, what_is_wrong
from agents.tools import Arguments, error_text, submit_tool
from agents.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from langchain_core.language_models import BaseChatModel
    from langchain_core.tools import BaseTool

Handed = TypeVar("Handed")

DECLINE = "decline"
_QUOTED = 300


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """What a conversation may use; meeting a limit ends it with `RoleFailedError`, which names the limit.

    Attributes:
        turns: Model calls.
        tokens: Tokens read and written over all calls; the history counts each time that it is read.
        repairs: Unusable answers in a row (no tool call, unknown tool, wrong arguments) that are answered with the
            error.
        submissions: Times that work which does not hold may be handed in and go back.
        argument_characters: Longest string argument kept in the history; longer ones are cut after use.
        result_characters: Longest tool result.
    """

    turns: int = 40
    tokens: int = 2_000_000
    repairs: int = 2
    submissions: int = 1
    argument_characters: int = 16 << 10
    result_characters: int = 80 << 10


@dataclass(frozen=True, slots=True)
class Submission(Generic[Handed]):
    """How a role hands in its work.

    Attributes:
        name: The tool's name.
        description: The tool's description.
        arguments: Its argument schema.
        accept: Makes the result of the arguments; raises `ValueError` (a pydantic `ValidationError` is one) that says
            what is wrong.
    """

    name: str
    description: str
    arguments: type[Arguments]
    accept: Callable[[Any], Handed]


class Decline(Arguments):
    """Arguments of `decline`."""

    reason: Annotated[str, Field(min_length=1, description="why it cannot be done; what you tried")]


class RoleSession(Generic[Handed]):
    """A conversation, run once.

    Args:
        model: The role's model.
        role: Its name.
        system: System prompt.
        assignment: First message.
        tools: What it can do.
        submission: How it hands in its work.
        may_decline: Whether it may say that the work cannot be done, by the tool `decline`.
        limits: What the conversation may use.
        transcript: File that the conversation is written to.
        listen: Told each message as it is said.
    """

    def __init__(
        self,
        model: BaseChatModel,
        *,
        role: str,
        system: str,
        assignment: str,
        tools: Sequence[BaseTool],
        submission: Submission[Handed],
        limits: SessionLimits,
        may_decline: bool = False,
        transcript: Path | None = None,
        listen: Callable[[BaseMessage], None] | None = None,
    ) -> None:
        endings = [submit_tool(submission.name, submission.arguments, submission.description)]
        if may_decline:
            endings.append(submit_tool(DECLINE, Decline, "Says that the work cannot be done, and ends it."))
        self._bound = model.bind_tools([*tools, *endings])
        self._tools = {tool.name: tool for tool in (*tools, *endings)}
        self._submission = submission
        self._role, self._limits = role, limits
        self._transcript = Transcript(transcript)
        self._listen = listen
        self._history: list[BaseMessage] = []
        self._turn = self._tokens = self._repairs = self._turned_down = 0
        self._last: AIMessage | None = None
        for message in (SystemMessage(system), HumanMessage(assignment)):
            self._say(message)

    async def run(self) -> Handed:
        """Converses until the work is handed in.

        Raises:
            RoleDeclinedError: It says that the work cannot be done.
            RoleFailedError: A limit was met, or the model refused the conversation.
            ModelError: The model could not be had.
        """
        while self._turn < self._limits.turns:
            if self._tokens > self._limits.tokens:
                raise self._failure(f"it used {self._tokens} tokens, the limit is {self._limits.tokens}")
            answer = await self._ask()
            calls = read_calls(answer, self._turn)
            self._say(as_history(answer, calls, self._limits.argument_characters), heard=answer)
            if not calls:
                self._repair("it answered without a tool call")
                self._say(HumanMessage(self._reminder()))
                continue
            handed = await self._work_off(calls)
            if handed is not None:
                return handed[0]
        raise self._failure(f"it did not call {self._submission.name} within the limit of {self._limits.turns} turns")

    async def _ask(self) -> AIMessage:
        self._turn += 1
        try:
            answer = await self._bound.ainvoke(self._history)
        except (ContextOverflowError, ContentPolicyError) as error:
            raise self._failure(str(error)) from error
        self._last = answer
        self._tokens += answer.usage_metadata["total_tokens"] if answer.usage_metadata else 0
        return answer

    async def _work_off(self, calls: Sequence[ToolRequest]) -> tuple[Handed] | None:
        """Executes the calls of one message in order; the work, wrapped, once it is handed in and holds."""
        failed = unusable = ""
        for call in calls:
            if call.name == self._submission.name and failed:
                self._reply(
                    call, error_text(f"not submitted, because {failed} failed; look at its result, then submit")
                )
                continue
            arguments, problem = self._checked(call)
            if arguments is None:
                failed, unusable = failed or f"the call of {call.name}", unusable or problem
                self._reply(call, error_text(problem))
            elif isinstance(arguments, Decline):
                raise RoleDeclinedError(self._role, f"it declines: {arguments.reason}", turns=self._turn)
            elif call.name == self._submission.name:
                try:
                    return (self._submission.accept(arguments),)
                except ValueError as error:
                    failed = "the submission"
                    self._turn_down(call, what_is_wrong(error))
            elif not await self._execute(call):
                failed = failed or f"the call of {call.name}"
        if unusable:
            self._repair(unusable)
        else:
            self._repairs = 0
        return None

    def _checked(self, call: ToolRequest) -> tuple[BaseModel | None, str]:
        tool = self._tools.get(call.name)
        if call.broken:
            return None, call.broken
        if tool is None:
            return None, f"there is no tool {call.name!r}; the tools are {', '.join(self._tools)}"
        schema = tool.args_schema
        if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
            raise TypeError(f"tool {tool.name} has no pydantic argument schema")
        try:
            return schema.model_validate(call.args), ""
        except ValidationError as error:
            return None, f"wrong arguments of {call.name}: {what_is_wrong(error)}"

    async def _execute(self, call: ToolRequest) -> bool:
        message = await self._tools[call.name].ainvoke(
            {"type": "tool_call", "name": call.name, "args": call.args, "id": call.id}
        )
        text = excerpt(str(message.content), self._limits.result_characters)
        self._reply(call, text, failed=message.status == "error")
        return bool(message.status != "error")

    def _turn_down(self, call: ToolRequest, problem: str) -> None:
        self._turned_down += 1
        if self._turned_down > self._limits.submissions:
            raise self._failure(f"what it handed in does not hold, again: {problem}")
        self._reply(call, error_text(f"{problem}; correct it and call {call.name} again"))

    def _repair(self, problem: str) -> None:
        self._repairs += 1
        if self._repairs > self._limits.repairs:
            raise self._failure(f"{self._repairs} unusable answers in a row, the last one: {problem}")

    def _reminder(self) -> str:
        cut = ""
        if self._last is not None and self._last.response_metadata.get("finish_reason") == "length":
            cut = " Your answer was cut off at the token limit: say less, or write long files in parts."
        names = ", ".join(self._tools)
        finish = f"Finish with {self._submission.name}."
        return f"Please answer with a tool call ({names}); text alone has no effect. {finish}{cut}"

    def _reply(self, call: ToolRequest, text: str, *, failed: bool = True) -> None:
        status = "error" if failed else "success"
        self._say(ToolMessage(content=text, tool_call_id=call.id, name=call.name, status=status))

    def _say(self, message: BaseMessage, *, heard: BaseMessage | None = None) -> None:
        self._history.append(message)
        self._transcript.add(heard or message, turn=self._turn)
        if self._listen is not None:
            self._listen(heard or message)

    def _failure(self, reason: str) -> RoleFailedError:
        said = ""
        if self._last is not None:
            said = self._last.text or ", ".join(call["name"] for call in self._last.tool_calls)
        return RoleFailedError(self._role, reason, turns=self._turn, last_said=excerpt(said, _QUOTED))
