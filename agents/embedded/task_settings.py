"""Edits of `task.toml` that leave every other byte of it alone."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Final

import tomlkit

from agents.embedded.conversation import CannotError

HOSTS: Final = ("metadata", "evolution")  # the host's table: it stamps the child
FIXED: Final = ("task", "name")

Table = Mapping[str, Any]


def parsed(toml: str) -> Table:
    """`task.toml` as plain values.

    Raises:
        CannotError: It is not TOML.
    """
    try:
        return tomllib.loads(toml)
    except tomllib.TOMLDecodeError as error:
        raise CannotError(f"task.toml is not TOML: {error}") from error


def at(table: Table, *path: str) -> Any:
    """The value at a path of keys; `None` where there is none."""
    value: Any = table
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def carried_over(toml: str, before: str, after: str) -> str:
    """`toml` with the values that differ between `before` and `after`, two renderings, put in.

    What only `toml` has stays; the task's name and the host's table are left alone.
    """
    document = tomlkit.parse(toml)
    for path, value in _changes(tomllib.loads(before), tomllib.loads(after), ()):
        _put(document, path, value)
    return tomlkit.dumps(document)


def with_tools(toml: str, tools: Sequence[str]) -> str:
    """`toml` with commands added to `[metadata] tools`."""
    known = at(parsed(toml), "metadata", "tools")
    listed = [str(tool) for tool in known] if isinstance(known, list) else []
    more = sorted({*listed, *tools})
    if more == sorted(listed):
        return toml
    document = tomlkit.parse(toml)
    _put(document, ("metadata", "tools"), more)
    return tomlkit.dumps(document)


def with_artifacts(toml: str, path: str) -> str:
    """`toml` with a folder added to `artifacts`, where the verifier sees artifacts alone (`verification = "fresh"`)."""
    settings = parsed(toml)
    if at(settings, "metadata", "verification") != "fresh":
        return toml
    listed = settings.get("artifacts", [])
    sources = [entry.get("source", "") if isinstance(entry, dict) else str(entry) for entry in listed]
    if any(path == source or path.startswith(f"{source.rstrip('/')}/") for source in sources):
        return toml
    if "artifacts" not in settings:  # a key at the top can't come behind the tables
        return f'artifacts = ["{path}"]\n{toml}'
    document = tomlkit.parse(toml)
    document["artifacts"].append(path)
    return tomlkit.dumps(document)


def with_steps(toml: str, front: Sequence[str], end: Sequence[str]) -> str:
    """`toml` of a multi-step task with steps of these names put in front of its steps and behind them.

    Raises:
        CannotError: Its steps are not written as `[[steps]]` tables.
    """
    lines = toml.splitlines(keepends=True)
    first = next((i for i, line in enumerate(lines) if line.strip().replace(" ", "") == "[[steps]]"), None)
    if first is None:
        raise CannotError("the steps in task.toml are not written as [[steps]] tables: nothing can be put between them")
    head = [_step(name) + "\n" for name in front]
    tail = ["\n" + _step(name) for name in end]
    if tail and lines[-1][-1:] != "\n":
        tail.insert(0, "\n")
    text = "".join([*lines[:first], *head, *lines[first:], *tail])
    names = [step.get("name") for step in at(parsed(text), "steps")]
    old = [step.get("name") for step in at(parsed(toml), "steps")]
    if names != [*front, *old, *end]:
        raise CannotError(f"the steps of task.toml came out as {names}: its layout is one that cannot be edited safely")
    return text


def _step(name: str) -> str:
    # A trial ends at an inserted step that is not done: under the strategy "final" the later ones would make up for it.
    return f'[[steps]]\nname = "{name}"\nmin_reward = 1.0\n'


def _changes(before: Table, after: Table, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], Any]]:
    found: list[tuple[tuple[str, ...], Any]] = []
    for key, value in after.items():
        place = (*path, key)
        if place in (HOSTS, FIXED) or before.get(key) == value:
            continue
        if isinstance(value, dict) and isinstance(before.get(key), dict):
            found += _changes(before[key], value, place)
        else:
            found.append((place, value))
    return found


def _put(document: tomlkit.TOMLDocument, path: tuple[str, ...], value: Any) -> None:
    table: Any = document
    for key in path[:-1]:
        table = table.setdefault(key, tomlkit.table())
    table[path[-1]] = value
