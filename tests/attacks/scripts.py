"""Reads the scripts of the battery: what their first comment lines say of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
_HEADER = re.compile(r"^# ([a-z]+): (.*)$")


@dataclass(frozen=True)
class Script:
    """One script.

    Attributes:
        path: Where it lies.
        header: The values of its first lines `# key: value`.
    """

    path: Path
    header: dict[str, str]

    def get(self, key: str, default: str = "") -> str:
        return self.header.get(key, default)

    def __str__(self) -> str:
        return self.path.stem


def scripts(folder: str) -> list[Script]:
    """All scripts of a folder of the battery, by name."""
    return [_read(path) for path in sorted((FOLDER / folder).glob("*.sh"))]


def _read(path: Path) -> Script:
    header = {}
    for line in path.read_text().splitlines()[1:]:
        match = _HEADER.match(line)
        if match is None:
            break
        header[match[1]] = match[2].strip()
    return Script(path, header)
