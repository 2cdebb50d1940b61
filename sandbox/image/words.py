"""Words of a Dockerfile line: quotes, escapes and `${VARIABLE}`, as Docker's own small shell reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?:(:?[-+])([^}]{0,1000}))?\})")
_FILLED = re.compile(r"\\([$\\])|" + _VARIABLE.pattern)


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Expands a value that is one word: quotes go, variables are filled in; unknown ones are empty."""
    return "".join(_read(text, variables, split=False))


def words(text: str, variables: Mapping[str, str]) -> list[str]:
    """Splits at white space outside of quotes, then expands each word."""
    return _read(text, variables, split=True)


def pairs(text: str, variables: Mapping[str, str]) -> dict[str, str]:
    """Reads `NAME=value NAME="other value"`, or the old form `NAME all the rest`.

    Raises:
        ValueError: A word is neither.
    """
    first = text.split(None, 1)
    if first and "=" not in first[0]:
        if len(first) == 1:
            raise ValueError(f"{first[0]!r} has no value")
        return {expand(first[0], variables): expand(first[1], variables)}
    found = {}
    for word in words(text, variables):
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ValueError(f"{word!r} is not NAME=value")
        found[name] = value
    return found


def fill(text: str, variables: Mapping[str, str]) -> str:
    """Fills variables in and leaves all else as it is: quotes stay, and a backslash keeps a `$` from its meaning."""

    def one(match: re.Match[str]) -> str:
        if match[1]:
            return match[1]
        plain = _VARIABLE.match(match[0])
        return _value(plain, variables) if plain else match[0]

    return _FILLED.sub(one, text)


def _read(text: str, variables: Mapping[str, str], *, split: bool) -> list[str]:
    found: list[str] = []
    word: list[str] | None = None
    quote = ""
    position = 0
    while position < len(text):
        character = text[position]
        if split and not quote and character.isspace():
            if word is not None:
                found.append("".join(word))
            word = None
            position += 1
            continue
        word = [] if word is None else word
        piece, position, quote = _step(text, position, quote, variables)
        word.append(piece)
    if quote:
        raise ValueError(f"a quote ({quote}) is never closed")
    return found if word is None else [*found, "".join(word)]


def _step(text: str, position: int, quote: str, variables: Mapping[str, str]) -> tuple[str, int, str]:
    """Reads what stands at `position`: its value, where the next begins, and the quote that is then open."""
    character = text[position]
    if quote == "'":
        return ("", position + 1, "") if character == "'" else (character, position + 1, quote)
    if character == "\\" and position + 1 < len(text):
        following = text[position + 1]
        keeps_backslash = bool(quote) and following not in '"$\\'
        return ("\\" if keeps_backslash else "") + following, position + 2, quote
    if character in "'\"" and (not quote or character == quote):
        return "", position + 1, "" if quote else character
    if character == "$":
        match = _VARIABLE.match(text, position)
        if match:
            return _value(match, variables), match.end(), quote
        if text.startswith("${", position):
            raise ValueError(f"{text[position : position + 20]!r} is a substitution that is not known here")
    return character, position + 1, quote


def _value(match: re.Match[str], variables: Mapping[str, str]) -> str:
    value = variables.get(match[1] or match[2])
    operator, alternative = match[3] or "", match[4] or ""
    absent = value is None or (operator.startswith(":") and not value)
    if operator.endswith("-"):
        return expand(alternative, variables) if absent else value or ""
    if operator.endswith("+"):
        return "" if absent else expand(alternative, variables)
    return value or ""
