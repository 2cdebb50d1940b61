"""Keeps credentials out of whatever is written down."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)$", re.IGNORECASE)
_SHAPES = re.compile(
    r"\bsk-[\w-]{8,}|\b(?:hf_|gh[opsu]_|xox[abp]-|AIza|AKIA)[\w-]{12,}"
    r"|\bBearer\s+[\w.~+/-]{8,}=*|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)|(?<=[?&]key=)[^&\s'\"]+"
)
_SHORTEST = 10
_MARK = "[secret]"


class SecretsFilter:
    """Replaces credentials by `[secret]`.

    Args:
        environ: Variables whose names end in KEY, TOKEN, SECRET, PASSWORD or CREDENTIALS hold secrets; shorter values
            than ten characters are not looked for, they would hit ordinary text. The process's own when left out.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        found = os.environ if environ is None else environ
        values = {value for name, value in found.items() if _NAMES.search(name) and len(value) >= _SHORTEST}
        # Longest first: one secret may begin with another.
        self._values = sorted(values, key=lambda value: (-len(value), value))

    def known(self, text: str) -> str:
        """The text without the values of known credentials; everything else byte for byte."""
        for value in self._values:
            text = text.replace(value, _MARK)
        return text

    def message(self, text: str) -> str:
        """The text without known credentials and without what has the shape of one: for errors and logs."""
        return _SHAPES.sub(_MARK, self.known(text))
