"""Tools the way OpenAI writes them; each is worked out once, since every conversation binds the same ones."""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.tools import BaseTool


def openai_tool(tool: dict[str, Any] | type | Callable[..., Any] | BaseTool) -> dict[str, Any]:
    """What LangChain makes of a tool."""
    # Of exactly this class, name, description and schema are all that counts.
    if type(tool) is StructuredTool and isinstance(tool.args_schema, type) and issubclass(tool.args_schema, BaseModel):
        return copy.deepcopy(_converted(tool.name, tool.description, tool.args_schema))
    return convert_to_openai_tool(tool)


@lru_cache(maxsize=64)
def _converted(name: str, description: str, arguments: type[BaseModel]) -> dict[str, Any]:
    return convert_to_openai_tool(
        StructuredTool(name=name, description=description, args_schema=arguments, func=_never_called)
    )


def _never_called() -> None:
    """Stands for what a tool does, which its schema does not depend on."""
