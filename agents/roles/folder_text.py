"""A task folder as text in a prompt: every file between tags, what is no text or too long by its digest.

`agents.embedded.shown_files` reads it back.
"""

from __future__ import annotations

import hashlib
import html
from typing import TYPE_CHECKING

from agents.workspace import LARGEST_FILE

if TYPE_CHECKING:
    from agents.workspace import Workspace

LONGEST_FILE = 24 << 10
LONGEST = 240 << 10
"""Characters of one file, and of all."""


async def folder_text(workspace: Workspace) -> str:
    """The folder's files in the order of their paths.

    A file that holds the closing tag is shown by its digest like a binary one, so that no text ends another's; one that
    is too large to be read, by its size alone. Paths are escaped as in HTML.

    Raises:
        WorkspaceError: A file cannot be read.
    """
    parts: list[str] = []
    left = LONGEST
    for entry in await workspace.list("."):
        path = html.escape(entry.path).replace("\n", "&#10;").replace("\r", "&#13;")
        bit = ' executable="true"' if entry.executable else ""
        if entry.size > LARGEST_FILE:
            parts.append(f'<file path="{path}" bytes="{entry.size}"{bit} />')
            continue
        content = await workspace.read(entry.path)
        text = _text(content)
        if text is None or len(text) > min(LONGEST_FILE, left):
            digest = hashlib.sha256(content).hexdigest()
            parts.append(f'<file path="{path}" bytes="{len(content)}" sha256="{digest}"{bit} />')
            continue
        left -= len(text)
        parts.append(f'<file path="{path}"{bit}>\n{text}</file>')
    return "\n".join(parts)


def _text(content: bytes) -> str | None:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text or "</file>" in text else text
