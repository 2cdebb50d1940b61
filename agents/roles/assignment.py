"""The facts of an assignment as the one fenced JSON block that its message holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents.roles.requests import Finding


def fenced(facts: Mapping[str, object]) -> str:
    """The block. Backticks inside are escaped, so that no text in it can end it."""
    text = json.dumps(facts, ensure_ascii=False, indent=1).replace("`", "\\u0060")
    return f"```json\n{text}\n```"


def feedback_facts(feedback: tuple[Finding, ...]) -> list[dict[str, str]]:
    """Findings as JSON values."""
    return [{"source": item.source, "code": item.code, "text": item.text} for item in feedback]
