"""Variables in a compose file: `$VAR`, `${VAR}`, `${VAR:-default}` and the other forms of the compose specification."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATOR = re.compile(r":?[-?+]")


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
    value, rest = _until(text, variables, closing=False)
    assert not rest  # noqa: S101 - without a closing brace to look for, everything is read
    return value


def _until(text: str, variables: Mapping[str, str], *, closing: bool) -> tuple[str, str]:
    """Fills in up to the end, or up to the brace that closes this variable; the value, and what follows the brace."""
    value: list[str] = []
    while text:
        if closing and text[0] == "}":
            return "".join(value), text[1:]
        if text[0] != "$":
            value.append(text[0])
            text = text[1:]
        elif text.startswith("$$"):
            value.append("$")
            text = text[2:]
        elif text.startswith("${"):
            found, text = _braced(text[2:], variables)
            value.append(found)
        else:
            match = _NAME.match(text, 1)
            if match is None:
                raise InterpolationError(f"{text!r}: a dollar that starts no variable is written $$")
            value.append(variables.get(match[0], ""))
            text = text[match.end() :]
    if closing:
        raise InterpolationError("a brace is not closed")
    return "".join(value), ""


def _braced(text: str, variables: Mapping[str, str]) -> tuple[str, str]:
    match = _NAME.match(text)
    if match is None:
        raise InterpolationError(f"${{{text}: no name of a variable")
    name, rest = match[0], text[match.end() :]
    found = variables.get(name)
    if rest.startswith("}"):
        return found or "", rest[1:]
    operator = _OPERATOR.match(rest)
    if operator is None:
        raise InterpolationError(f"${{{text}: this form of variable is not known")
    word, rest = _until(rest[operator.end() :], variables, closing=True)
    is_set = bool(found) if operator[0].startswith(":") else found is not None
    match operator[0][-1]:
        case "-":
            return (found or "") if is_set else word, rest
        case "+":
            return word if is_set else "", rest
    if not is_set:
        raise InterpolationError(f"the variable {name} is not set" + (f": {word}" if word else ""))
    return found or "", rest
