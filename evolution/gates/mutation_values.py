"""Another value of the same sort as one that stands in an output."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evolution.gates.mutation_edits import Edit, nearby_number

if TYPE_CHECKING:
    import random

MAX_VALUE: Final = 1 << 16
"""Bytes of a value, or of a line, of which one is changed."""
# A name of a character (`\n`, a JSON `\u00e9`) is no word and no number, and broken it is none any more.
_ESCAPE: Final = re.compile(rb"\\(?:u[0-9A-Fa-f]{4}|[A-Za-z])")
_WORD: Final = re.compile(rb"[A-Za-z]{2,}")
_NUMBER: Final = re.compile(rb"(?<![\w.])(-?)(\d+)(\.\d+)?(?![\w.])")
_DIGIT: Final = re.compile(rb"\d")
_CONSTANTS: Final = {b"true": b"false", b"false": b"true", b"null": b"1"}


def other_value(value: bytes, rng: random.Random) -> Edit | None:
    """A change of a value: a number one further from 0 or with another first digit, a word with another letter.

    What was a value of JSON is one afterwards. `None` where there is nothing to change.

    Args:
        value: The value, or a line with several.
        rng: Decides which of its numbers or words.
    """
    plain = _ESCAPE.sub(lambda match: b"\0" * len(match[0]), value[:MAX_VALUE])
    if plain in _CONSTANTS:
        return _edit(0, len(plain), _CONSTANTS[plain])
    numbers, words = list(_NUMBER.finditer(plain)), list(_WORD.finditer(plain))
    if numbers:
        match = rng.choice(numbers)
        if match[3] is None:
            return _edit(*match.span(2), nearby_number(match[2]))
        # The first digit: the last one may be within what a test tolerates.
        return _edit(match.start(2), match.start(2) + 1, _other_digit(match[2][:1]))
    if words:
        word = rng.choice(words)
        if word[0] in _CONSTANTS:
            return _edit(*word.span(), _CONSTANTS[word[0]])
        return _edit(word.start(), word.start() + 1, b"q" if word[0][:1] != b"q" else b"k")
    digit = _DIGIT.search(plain) or _DIGIT.search(value, 0, MAX_VALUE)
    return _edit(*digit.span(), _other_digit(digit[0])) if digit else None


def _other_digit(digit: bytes) -> bytes:
    """Never 0: no number begins with a 0 that it did not have."""
    return b"8" if digit == b"9" else bytes([digit[0] + 1])


def _edit(start: int, end: int, new: bytes) -> Edit:
    return Edit(start, end, new, "value", "another value")
