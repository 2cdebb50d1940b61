"""A task folder as text in a prompt: every file between tags, what is no text or too long by its digest."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.workspace import Workspace

LONGEST_FILE = 24 << 10
LONGEST = 240 << 10
"""Characters of one file, and of all."""


async def folder_text(workspace: Workspace) -> str:
    """The folder's files in the order of their paths.

    A file that holds the closing tag is shown by its digest like a binary one, so that no text ends another's.

    Raises:
        WorkspaceError: A file cannot be read.
    """
    parts: list[str] = []
    left = LONGEST
    for entry in await workspace.list("."):
        content = await workspace.read(entry.path)
        bit = ' executable="true"' if entry.executable else ""
        text = _text(content)
        if text is None or len(text) > min(LONGEST_FILE, left):
            digest = hashlib.sha256(content).hexdigest()
            parts.append(f'<file path="{entry.path}" bytes="{len(content)}" sha256="{digest}"{bit} />')
            continue
        left -= len(text)
        parts.append(f'<file path="{entry.path}"{bit}>\n{text}</file>')
    return "\n".join(parts)


def _text(content: bytes) -> str | None:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text or "</file>" in text else text
