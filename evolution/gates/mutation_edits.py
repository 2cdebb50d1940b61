"""One small change of a text, and changes of code whose language is only known by its look (awk, sed, C, …)."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evolution.gates.outcomes import MAX_LINE

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DIFF_LINES: Final = 14

_COMMENT: Final = re.compile(rb"^[ \t]*(?:#|//|/?\*|--[ \t]).*$", re.MULTILINE)
_QUOTED: Final = re.compile(rb'"(?:[^"\\\n]|\\.)*"')
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
    """

    start: int
    end: int
    new: bytes
    kind: str
    says: str

    def applied(self, text: bytes) -> bytes:
        """The text with the change."""
        return text[: self.start] + self.new + text[self.end :]

    def moved(self, by: int) -> Edit:
        """The same change of a text that begins `by` bytes further on in another."""
        return Edit(self.start + by, self.end + by, self.new, self.kind, self.says)


def shown(text: bytes) -> str:
    """A piece of code, short, on one line."""
    line = " ".join(text.decode("utf-8", "replace").split())
    return line if len(line) <= 60 else f"{line[:60]}…"  # noqa: PLR2004 - what fits a line of a report


def nearby_number(number: bytes) -> bytes:
    """A number one greater; the number of digits stays where it has leading zeros."""
    return str(int(number) + 1).encode().rjust(len(number), b"0")


def generic_edits(code: bytes) -> Iterator[Edit]:
    """Flipped operators and other numbers in code of any language; not in comments, numbers not in quotes either."""
    comments = [match.span() for match in _COMMENT.finditer(code)]
    quoted = [*comments, *(match.span() for match in _QUOTED.finditer(code))]
    for kind, pattern in _OPERATORS:
        for match in pattern.finditer(code):
            old = match[0].strip()
            if not _inside(match.start(), quoted):
                new = match[0].replace(old, _FLIPPED[old])
                yield Edit(*match.span(), new, kind, f"`{shown(old)}` becomes `{shown(new)}`")
    for match in _NUMBER.finditer(code):
        if not _inside(match.start(), quoted):
            new = nearby_number(match[0])
            yield Edit(*match.span(), new, "constant", f"{shown(match[0])} becomes {shown(new)}")


def diff(before: bytes, after: bytes, name: str, *, lines: int = MAX_DIFF_LINES) -> str:
    """A unified diff, cut; of what is no text only that it differs."""
    if b"\0" in before[:8192] or b"\0" in after[:8192]:
        return f"  {name}: {len(before)} bytes, with the change {len(after)} bytes; not text"
    old, new = (text.decode("utf-8", "replace").splitlines() for text in (before, after))
    found = list(difflib.unified_diff(old, new, f"{name} (reference)", f"{name} (broken)", lineterm="", n=0))
    if not found:
        return f"  {name}: differs only in its line ends"
    cut = [f"  {line[:MAX_LINE]}" for line in found[:lines]]
    more = len(found) - lines
    return "\n".join(cut + ([f"  … {more} more lines differ"] if more > 0 else []))


def _inside(place: int, spans: list[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in spans)
