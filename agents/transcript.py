"""A conversation on disk, one JSON message a line: for people and reports; nothing is read back from it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

if TYPE_CHECKING:
    from pathlib import Path


class Transcript:
    """Writes down a conversation as it goes.

    Args:
        path: The file; `None` writes nothing. What an interrupted run left there is replaced: the conversation is
            replayed from its start, so it comes back.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("", encoding="utf-8")

    def add(self, message: BaseMessage, *, turn: int = 0) -> None:
        """Appends a message; `turn` is the number of the model call it belongs to, 0 before the first."""
        if self._path is None:
            return
        line: dict[str, object] = {"turn": turn, "type": message.type, "content": message.content}
        if isinstance(message, AIMessage):
            line["tool_calls"] = [{"name": call["name"], "args": call["args"]} for call in message.tool_calls]
            line["invalid_tool_calls"] = [
                {"name": call["name"], "args": call["args"]} for call in message.invalid_tool_calls
            ]
            line["usage"] = message.usage_metadata
        if isinstance(message, ToolMessage):
            line["name"], line["status"] = message.name, message.status
        kept = {key: value for key, value in line.items() if value not in (None, [])}
        with self._path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(json.dumps(kept, ensure_ascii=False) + "\n")
