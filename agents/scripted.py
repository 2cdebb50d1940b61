"""A chat model that plays a script: for tests of roles, graphs and your own plug-ins; needs no network and no key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr, SkipValidation

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManagerForLLMRun
    from langchain_core.tools import BaseTool

Reply = AIMessage | Exception


class ScriptedChatModel(BaseChatModel):
    """Answers with the script's next message, or with what a function makes of the conversation.

    Attributes:
        script: AI messages in order (an exception among them is raised), or a function of the messages.
    """

    script: SkipValidation[Sequence[Reply] | Callable[[list[BaseMessage]], AIMessage]]
    _seen: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _parameters: list[dict[str, Any]] = PrivateAttr(default_factory=list)

    @property
    def seen(self) -> list[list[BaseMessage]]:
        """The conversations it was shown, one per call."""
        return self._seen

    @property
    def parameters(self) -> list[dict[str, Any]]:
        """The parameters of each call: tools in OpenAI's format, temperature and the like."""
        return self._parameters

    @property
    def _llm_type(self) -> str:
        return "envolve-scripted"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,  # noqa: ARG002 - the script decides
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Keeps the tools as parameters of the calls."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - the base class's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        self._seen.append(list(messages))
        self._parameters.append(kwargs)
        if not isinstance(self.script, Sequence):
            reply: Reply = self.script(messages)
        elif len(self._seen) > len(self.script):
            raise IndexError(f"the script has {len(self.script)} message(s), call {len(self._seen)} finds none")
        else:
            reply = self.script[len(self._seen) - 1]
        if isinstance(reply, Exception):
            raise reply
        return ChatResult(generations=[ChatGeneration(message=reply.model_copy())])


def calls(*named: tuple[str, dict[str, Any]], content: str = "") -> AIMessage:
    """An AI message that calls tools: `calls(("run", {"command": "ls"}), ("submit", {"summary": "done"}))`."""
    return AIMessage(
        content=content,
        tool_calls=[
            {"name": name, "args": args, "id": f"call-{number}", "type": "tool_call"}
            for number, (name, args) in enumerate(named, start=1)
        ],
    )
