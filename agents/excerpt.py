"""Long text cut to its head and tail, and shown without what a terminal would obey."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def excerpt(text: str, limit: int, *, hint: str = "") -> str:
    """At most about `limit` characters: the head, a line that says how many are left out, the tail.

    Args:
        text: The text.
        limit: Characters kept.
        hint: How to get at the rest; part of the line.
    """
    if len(text) <= limit:
        return text
    head, tail = limit - limit // 3, limit // 3
    missing = len(text) - head - tail
    line = f"[... {missing} characters left out{'; ' + hint if hint else ''} ...]"
    return f"{text[:head]}\n{line}\n{text[len(text) - tail :]}"


def visible(text: str) -> str:
    r"""The text with its control characters written out (`\x1b`); line feeds and tabs stay, CR LF loses its CR."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text.replace("\r\n", "\n"))
