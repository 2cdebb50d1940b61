"""Sections of a reference solution: which lines of `solve.sh` belong to which step.

A line `# envolve: step <id>` starts the section of that step; what precedes the first marker is the preamble, which is
always kept. Sections are lines of text, not shell syntax: a marker inside a here-document is a marker too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

MARKER = re.compile(r"^[ \t]*#[ \t]*envolve:[ \t]*step[ \t]+(?P<id>[^\s#]+)[ \t]*\r?\n?$")


@dataclass(frozen=True, slots=True)
class Section:
    """A run of lines.

    Attributes:
        id: The step's id; "" for the preamble.
        text: The lines with their ends, the marker line included. All texts joined give the script again.
    """

    id: str
    text: str


def sections(text: str) -> tuple[Section, ...]:
    """The script cut at its markers: the preamble (perhaps empty) first, then one section per marker, in order.

    An id may come several times; each of its sections stands for itself.
    """
    found: list[tuple[str, list[str]]] = [("", [])]
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        marker = MARKER.match(line)
        if marker:
            found.append((marker["id"], []))
        found[-1][1].append(line)
    return tuple(Section(name, "".join(lines)) for name, lines in found)


def section_ids(text: str) -> tuple[str, ...]:
    """The ids that have a section, in order, each once."""
    return tuple(dict.fromkeys(section.id for section in sections(text) if section.id))


def without_sections(text: str, ids: Collection[str]) -> str:
    """The script without the sections of `ids`; ids that have none change nothing."""
    return "".join(section.text for section in sections(text) if not section.id or section.id not in ids)


def renamed(text: str, names: Mapping[str, str]) -> str:
    """`text` with every old name replaced by its new one, all at once and the longest first.

    A name is replaced only where no further letter, digit, `_` or `-` continues it on either side, so `/app/out` is not
    found in `/app/output`.
    """
    if not names:
        return text
    ordered = sorted(names, key=lambda name: (-len(name), name))
    pattern = re.compile(r"(?<![\w-])(?:" + "|".join(re.escape(name) for name in ordered) + r")(?![\w-])")
    return pattern.sub(lambda match: names[match[0]], text)
