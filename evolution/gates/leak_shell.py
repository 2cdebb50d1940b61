"""Texts that a shell script carries: here-documents and quoted strings, each found in one pass over it."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORTEST_QUOTED: Final = 12
"""Characters of a quoted string that may tell something; an escape is one."""

_OPENS = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1")
_LONGEST_MARK = 200
_QUOTE = re.compile(r"['\"]")
_ESCAPES = re.compile(r"\\+\"?|\"")
_UNIT = re.compile(r"\\.|[^\\]", re.DOTALL)


def heredocs(text: str) -> Iterator[str]:
    """What the here-documents of a script hold; one within another counts as text of that."""
    lines = text.split("\n")
    ends: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        mark = line.lstrip("\t")
        if mark and len(mark) <= _LONGEST_MARK:
            ends.setdefault(mark, []).append(number)
    number = 0
    while number < len(lines):
        end = _end(lines[number], number, ends)
        if end:
            yield "\n".join(lines[number + 1 : end])
        number = end or number + 1


def _end(line: str, number: int, ends: dict[str, list[int]]) -> int:
    """The line that ends the first here-document that a line begins and another ends; 0 for none."""
    for match in _OPENS.finditer(line):
        later = ends.get(match[2], ())
        at = bisect_right(later, number)
        if at < len(later):
            return later[at]
    return 0


def quoted(text: str) -> Iterator[str]:
    """Quoted strings of a script that are long enough, without their quotes.

    As people write them, not as a shell reads them: a quote that closes a short string may begin a long one.
    """
    marks = [match.start() for match in _QUOTE.finditer(text)]
    closing = {"'": [at for at in marks if text[at] == "'"], '"': _unescaped(text)}
    done = -1
    for at in marks:
        if at <= done:
            continue
        ends = closing[text[at]]
        place = bisect_right(ends, at)
        if place == len(ends):
            continue
        held = text[at + 1 : ends[place]]
        if _is_long(held, escapes=text[at] == '"'):
            yield held
            done = ends[place]


def _unescaped(text: str) -> list[int]:
    """Where double quotes stand that end a string: those before which the number of backslashes is even."""
    runs = (match for match in _ESCAPES.finditer(text) if match[0].endswith('"') and len(match[0]) % 2)
    return [match.end() - 1 for match in runs]


def _is_long(held: str, *, escapes: bool) -> bool:
    if len(held) >= 2 * SHORTEST_QUOTED or not escapes:
        return len(held) >= SHORTEST_QUOTED
    return len(_UNIT.findall(held)) >= SHORTEST_QUOTED
