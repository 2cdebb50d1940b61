"""The task folder as a writer's prompt shows it (see `agents.roles.folder_text`), read back."""

from __future__ import annotations

import hashlib
import html
import re
from dataclasses import dataclass
from typing import Final

OPENING: Final = '<file path="'
_SHOWN: Final = re.compile(
    r'^<file path="(?P<path>[^"\n]+)"(?P<short> bytes="\d+"(?: sha256="(?P<sha256>[0-9a-f]{64})")?)?'
    r'(?P<bit> executable="true")?(?(short) />$|>\n(?P<text>.*?)</file>$)',
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class ShownFile:
    """One file of the prompt.

    Attributes:
        text: Its text; `None` for one that is not shown in full.
        sha256: Of its bytes; "" where the prompt gives its size alone.
        executable: Whether it has its run bit.
    """

    text: str | None
    sha256: str
    executable: bool


def shown_files(message: str) -> dict[str, ShownFile]:
    """The files by their paths."""
    found = {}
    for match in _SHOWN.finditer(message):
        text = match["text"]
        digest = match["sha256"] or ""
        if text is not None:
            digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        found[html.unescape(match["path"])] = ShownFile(text, digest, executable=match["bit"] is not None)
    return found
