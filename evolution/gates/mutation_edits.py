"""One small change of a text, and changes of code whose language is only known by its look (awk, sed, C, …)."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Language = Literal["python", "shell"]
"""A language with a parser."""

MAX_NEW: Final = 4096
"""Bytes an edit may bring; some repeat the code they stand for, and nested ones would add up to its size squared."""
PROGRAMS: Final = (
    *(".awk", ".c", ".cc", ".cpp", ".go", ".h", ".java", ".jq"),
    *(".js", ".lua", ".pl", ".rb", ".rs", ".sed", ".sql", ".ts"),
)
"""How the names of programs end for which `generic_edits` are made."""
_SHOWN: Final = 60
_COMMENT: Final = re.compile(rb"^[ \t]*(?:#|//|/?\*|--[ \t]).*$", re.MULTILINE)
# What is not closed is matched to its end, too: a search from each of its quotes would take for ever.
_QUOTED: Final = re.compile(rb'"(?:[^"\\\n]|\\.)*("?)')
_NUMBER: Final = re.compile(rb"(?<![\w$.\\{-])\d+(?![\w.}])")
_OPERATORS: Final = (
    ("comparison", re.compile(rb"(?<![<>=!])(?:==|!=|>=|<=)(?!=)")),
    ("connector", re.compile(rb"&&|\|\|")),
    ("arithmetic", re.compile(rb"(?<=[\w\])])[ ]?(?:\+=|-=)")),
)
_FLIPPED: Final = {
    b"==": b"!=",
    b"!=": b"==",
    b">=": b">",
    b"<=": b"<",
    b"&&": b"||",
    b"||": b"&&",
    b"+=": b"-=",
    b"-=": b"+=",
}


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes of a text that others take the place of.

    Attributes:
        start: Offset of the first byte.
        end: Offset after the last.
        new: What comes there.
        kind: What sort of change it is, for a fair mix ("constant", "flag").
        says: The same for a person, in a few words.
        programs: The programs around it that have to parse with it as they did without, by language and span.
    """

    start: int
    end: int
    new: bytes
    kind: str
    says: str
    programs: tuple[tuple[Language, int, int], ...] = ()

    def applied(self, text: bytes) -> bytes:
        """The text with the change."""
        return text[: self.start] + self.new + text[self.end :]

    def changes(self, text: bytes) -> bool:
        """Whether it leaves another text."""
        return text[self.start : self.end] != self.new

    def moved(self, by: int) -> Edit:
        """The same change of a text that begins `by` bytes further on in another."""
        programs = tuple((language, start + by, end + by) for language, start, end in self.programs)
        return Edit(self.start + by, self.end + by, self.new, self.kind, self.says, programs)

    def inside(self, language: Language, size: int) -> Edit:
        """The same, known to lie in a program that is the first `size` bytes of the text."""
        return replace(self, programs=(*self.programs, (language, 0, size)))


def shown(text: bytes) -> str:
    """A piece of code, short, on one line."""
    line = " ".join(text[:MAX_NEW].decode("utf-8", "replace").split())
    return line if len(line) <= _SHOWN and len(text) <= MAX_NEW else f"{line[:_SHOWN]}…"


def nearby_number(number: bytes) -> bytes:
    """A number one greater; the number of digits stays where it has leading zeros.

    Args:
        number: Its digits, any number of them: `int` takes no more than some thousands.
    """
    rest = number.rstrip(b"9")
    nines = len(number) - len(rest)
    return (rest[:-1] + bytes([rest[-1] + 1]) if rest else b"1") + b"0" * nines


def generic_edits(code: bytes) -> Iterator[Edit]:
    """Flipped operators and other numbers in code of any language; not in comments, numbers not in quotes either."""
    comments = [match.span() for match in _COMMENT.finditer(code)]
    quoted = [match.span() for match in _QUOTED.finditer(code) if match[1]]
    for kind, pattern in _OPERATORS:
        for match in pattern.finditer(code):
            old = match[0].strip()
            if not _inside(match.start(), comments) and not _inside(match.start(), quoted):
                new = match[0].replace(old, _FLIPPED[old])
                yield Edit(*match.span(), new, kind, f"`{shown(old)}` becomes `{shown(new)}`")
    for match in _NUMBER.finditer(code):
        if not _inside(match.start(), comments) and not _inside(match.start(), quoted):
            new = nearby_number(match[0])
            yield Edit(*match.span(), new, "constant", f"{shown(match[0])} becomes {shown(new)}")


def _inside(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a place is in one of the spans, which come in order and do not overlap."""
    following = bisect_right(spans, place, key=lambda span: span[0])
    return following > 0 and place < spans[following - 1][1]
