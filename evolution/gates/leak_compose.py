"""Reads what variables a compose file gives its services, bounded: its text is the task's, and may be a trap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_TEXT: Final = 256 * 1024
"""Characters of a compose file that is read: longer ones take seconds to parse."""
MOST_VARIABLES: Final = 5000
_MERGE = "<<"


@dataclass(frozen=True, slots=True)
class Variables:
    """Variables of a compose file.

    Attributes:
        found: Service, name and value of each; where services share a mapping, the first of them.
        cut: Whether there is more than was read.
    """

    found: tuple[tuple[str, str, str], ...] = ()
    cut: bool = False


def variables_of(text: str) -> Variables:
    """The variables in a compose file's text; none where it is no such file, which the build says.

    Every value is the text as it stands there: no tag makes anything else of it, and what an alias stands for is
    looked at once.
    """
    if len(text) > MOST_TEXT:
        return Variables(cut=True)
    try:
        body = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - makes nothing but strings, lists and dicts
    except (yaml.YAMLError, ValueError, RecursionError):
        return Variables()
    found: list[tuple[str, str, str]] = []
    seen: set[int] = set()
    for service, name, value in _all(body, seen):
        if len(found) == MOST_VARIABLES:
            return Variables(tuple(found), cut=True)
        found.append((service, name, value))
    return Variables(tuple(found))


def _all(body: object, seen: set[int]) -> Iterator[tuple[str, str, str]]:
    for key, services in _entries(body, seen):
        for service, settings in _entries(services, seen) if key == "services" else ():
            for setting, given in _entries(settings, seen):
                if setting == "environment":
                    yield from ((service, name, value) for name, value in _rows(given, seen))


def _rows(given: object, seen: set[int]) -> Iterator[tuple[str, str]]:
    if isinstance(given, list) and id(given) not in seen:
        seen.add(id(given))
        for row in given:
            if isinstance(row, str):
                yield row.partition("=")[0], row.partition("=")[2]
    for name, value in _entries(given, seen):
        if isinstance(value, str):
            yield name, value


def _entries(mapping: object, seen: set[int]) -> Iterator[tuple[str, object]]:
    """The entries of a mapping and of those that are merged into it; each mapping's once, whoever names it."""
    todo = [mapping]
    while todo:
        one = todo.pop()
        if not isinstance(one, dict) or id(one) in seen:
            continue
        seen.add(id(one))
        for key, value in one.items():
            if key != _MERGE:
                yield str(key), value
            else:
                todo += value if isinstance(value, list) else [value]
