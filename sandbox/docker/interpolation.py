"""Variables in a compose file: `$VAR`, `${VAR}`, `${VAR:-default}` and the other forms of the compose specification."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATOR = re.compile(r":?[-?+]")
_PLAIN = re.compile(r"[^$]+")
_PLAIN_INSIDE = re.compile(r"[^$}]+")
_MOST_SHOWN = 80


class InterpolationError(ValueError):
    """A variable that cannot be filled in: says which and why."""


def interpolate(text: str, variables: Mapping[str, str]) -> str:
    """Fills in the variables of one value.

    `$$` is a dollar. A variable that is not set is empty. `:-` and `-` give a default, `:?` and `?` make it an error,
    `:+` and `+` give a value where the variable is set; with the colon an empty variable counts as not set. Defaults
    may hold variables themselves.

    Raises:
        InterpolationError: A required variable is not set, or a form is not known.
    """
    try:
        value, _end = _until(text, 0, variables, closing=False)
    except RecursionError:
        raise InterpolationError(f"{_shown(text, 0)}: defaults are nested too deeply") from None
    return value


def _until(text: str, at: int, variables: Mapping[str, str], *, closing: bool) -> tuple[str, int]:
    """Fills in from a place up to the end, or up to the brace that closes this variable.

    Returns:
        The value, and where what follows (the brace) begins.
    """
    value: list[str] = []
    plain = _PLAIN_INSIDE if closing else _PLAIN
    while at < len(text):
        if closing and text[at] == "}":
            return "".join(value), at + 1
        if match := plain.match(text, at):
            value.append(match[0])
            at = match.end()
        elif text.startswith("$$", at):
            value.append("$")
            at += 2
        elif text.startswith("${", at):
            found, at = _braced(text, at + 2, variables)
            value.append(found)
        else:
            match = _NAME.match(text, at + 1)
            if match is None:
                raise InterpolationError(f"{_shown(text, at)}: a dollar that starts no variable is written $$")
            value.append(variables.get(match[0], ""))
            at = match.end()
    if closing:
        raise InterpolationError("a brace is not closed")
    return "".join(value), at


def _braced(text: str, at: int, variables: Mapping[str, str]) -> tuple[str, int]:
    match = _NAME.match(text, at)
    if match is None:
        raise InterpolationError(f"{_shown(text, at - 2)}: no name of a variable")
    name, end = match[0], match.end()
    found = variables.get(name)
    if text.startswith("}", end):
        return found or "", end + 1
    operator = _OPERATOR.match(text, end)
    if operator is None:
        raise InterpolationError(f"{_shown(text, at - 2)}: this form of variable is not known")
    word, end = _until(text, operator.end(), variables, closing=True)
    is_set = bool(found) if operator[0].startswith(":") else found is not None
    match operator[0][-1]:
        case "-":
            return (found or "") if is_set else word, end
        case "+":
            return word if is_set else "", end
    if not is_set:
        raise InterpolationError(f"the variable {name} is not set" + (f": {word}" if word else ""))
    return found or "", end


def _shown(text: str, at: int) -> str:
    return repr(text[at : at + _MOST_SHOWN]) + ("…" if len(text) > at + _MOST_SHOWN else "")
