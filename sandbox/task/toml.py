"""From the bytes of `task.toml` to a `TaskConfig`: every way to fail names the line or the dotted field."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ValidationError

from sandbox.errors import TaskError
from sandbox.task.config import EnvironmentConfig, TaskConfig
from sandbox.task.files import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic_core import ErrorDetails

CONFIG_FILE: Final = "task.toml"
KNOWN_SCHEMA_VERSIONS: Final = ("1.0", "1.1", "1.2", "1.3", "1.4")

_EXPECTED: Final = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "dict_type": "a table",
    "extra_forbidden": "no such field",
    "float_parsing": "a number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a smaller whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_attributes_type": "a table",
    "model_type": "a table",
    "string_too_short": "at least one character",
    "string_type": "text (in quotes)",
    "too_short": "at least one entry",
    "tuple_type": "a list",
}
_INSTEAD: Final = {"memory": "memory_mb", "storage": "storage_mb", "allow_internet": "network_mode"}
_SHOWN = 80
_DEEPEST: Final = 100
_MOST_BITS: Final = 128
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_DEEP_KEY: Final = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{_DEEPEST},}}+")


def parse_toml(content: bytes, *, file: str = CONFIG_FILE) -> dict[str, object]:
    """Reads TOML.

    Raises:
        TaskError: Not UTF-8 (names the byte), not TOML (names line and column), nested more than 100 deep, or with a
            whole number of more than 128 bits.
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TaskError(not_utf8(error), file=file) from None
    # tomllib takes time that is quadratic in the parts of a key.
    for key in _DEEP_KEY.finditer(text):
        if text[key.end() : key.end() + _SHOWN].lstrip(" \t")[:1] in ("=", "]"):
            line = text.count("\n", 0, key.start()) + 1
            raise TaskError(f"line {line}: a key of more than {_DEEPEST} parts: {_cut(key[0])}", file=file)
    try:
        data = tomllib.loads(text)
        _check_values(data, file)
    except RecursionError:
        raise TaskError("not valid TOML: arrays or tables are nested too deeply", file=file) from None
    except ValueError as error:
        lines = text.split("\n")
        end = f"at line {len(lines)}, column {len(lines[-1]) + 1}: end of document"
        # Not every message of the parser has a place: an over-long number comes from int() itself.
        raise TaskError(f"not valid TOML: {str(error).replace('at end of document', end)}", file=file) from None
    return data


def _check_values(data: dict[str, object], file: str) -> None:
    """Refuses what reads well and breaks whoever copies, shows or computes with it: endless depth, endless numbers."""
    waiting: list[tuple[tuple[str | int, ...], object]] = [((), data)]
    while waiting:
        place, value = waiting.pop()
        if len(place) > _DEEPEST:
            first = dotted(place[:3])
            raise TaskError(f"arrays or tables are nested more than {_DEEPEST} deep", file=file, field=f"{first}…")
        if isinstance(value, dict):
            waiting += [((*place, key), inner) for key, inner in value.items()]
        elif isinstance(value, list):
            waiting += [((*place, index), inner) for index, inner in enumerate(value)]
        elif isinstance(value, int) and value.bit_length() > _MOST_BITS:
            message = f"a whole number of {value.bit_length()} bits, more than {_MOST_BITS}: write it as text"
            raise TaskError(message, file=file, field=dotted(place))


def parse_config(content: bytes) -> tuple[TaskConfig, tuple[Finding, ...]]:
    """Reads `task.toml`; what is odd but readable comes back as findings.

    Raises:
        TaskError: Not TOML, or a field holds what it must not; names the field, what came and what was expected.
    """
    data = parse_toml(content)
    try:
        config = TaskConfig.model_validate(data)
    except ValidationError as error:
        raise field_error(error, data) from None
    return config, tuple(_findings(config, data))


def field_error(
    error: ValidationError, data: object, *, file: str = CONFIG_FILE, prefix: Sequence[str] = ()
) -> TaskError:
    """Turns what pydantic says about `data` into one `TaskError`.

    Args:
        error: What pydantic raised.
        data: The table that was validated.
        file: The file it came from.
        prefix: Where in the file that table is.
    """
    problems = [(_place(data, detail), detail) for detail in error.errors()]
    first, detail = problems[0]
    # A value that fits no branch of a union fails once per branch: the deepest branch knows best, the others add to it.
    same = [(place, other) for place, other in problems if place[: len(first)] == first]
    deepest = max((place for place, _ in same), key=len)
    details = [other for place, other in same if place == deepest]
    detail = details[0]
    expected = " or ".join(dict.fromkeys(_expected(other) for other in details))
    came = "is missing" if detail["type"] == "missing" else f"came {_shown(detail['input'])}"
    rest = sorted({dotted((*prefix, *place)) for place, _ in problems if place[: len(first)] != first})
    also = f"; also wrong: {', '.join(rest)}" if rest else ""
    return TaskError(f"{came}, expected {expected}{also}", file=file, field=dotted((*prefix, *deepest)))


def dotted(place: Sequence[str | int]) -> str:
    """Writes a place in a TOML file as people do: `steps[0].min_reward`."""
    text = ""
    for part in place:
        name = part if isinstance(part, int) else _cut(part)
        text += f"[{name}]" if isinstance(part, int) else f".{name}" if text else f"{name}"
    return text


def not_utf8(error: UnicodeDecodeError) -> str:
    """Says where bytes stop being UTF-8 and what to do."""
    byte = error.object[error.start]
    return f"not UTF-8: byte 0x{byte:02x} at offset {error.start}; convert it, e.g. `iconv -f latin1 -t utf-8`"


def _place(data: object, detail: ErrorDetails) -> tuple[str | int, ...]:
    """The error's place in the file: pydantic's own, without the names of union branches that it mixes in."""
    place: list[str | int] = []
    here = data
    for position, part in enumerate(detail["loc"]):
        last = position == len(detail["loc"]) - 1
        if isinstance(here, dict) and (part in here or (last and detail["type"] == "missing")):
            here = here.get(part)
        elif isinstance(here, list) and isinstance(part, int) and part < len(here):
            here = here[part]
        else:
            continue
        place.append(part)
    return tuple(place)


def _expected(detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "missing":
        return "a value: add it"
    if kind in {"literal_error", "enum"}:
        return f"one of {context['expected']}"
    if kind == "greater_than_equal":
        return f"a number of at least {context['ge']}"
    if kind == "string_pattern_mismatch":
        return f"text that matches {context['pattern']}"
    said = detail["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return _EXPECTED.get(kind, said)


def _shown(value: object) -> str:
    """A TOML value as an error message shows it: its kind and as much of it as fits."""
    if isinstance(value, dict):
        return f"a table with {_cut(', '.join(sorted(map(str, value))[:8])) or 'nothing in it'}"
    if isinstance(value, list):
        return f"a list of {len(value)}: {_cut(repr(value))}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"the number {_cut(repr(value))}"
    return f"the text {_cut(repr(value))}" if isinstance(value, str) else _cut(str(value))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _findings(config: TaskConfig, data: dict[str, object]) -> Iterator[Finding]:
    if config.schema_version not in KNOWN_SCHEMA_VERSIONS:
        known = f"{KNOWN_SCHEMA_VERSIONS[0]} to {KNOWN_SCHEMA_VERSIONS[-1]}"
        message = (
            f"unknown version {_cut(repr(config.schema_version))}; read as {KNOWN_SCHEMA_VERSIONS[-1]} (known: {known})"
        )
        yield Finding(CONFIG_FILE, "schema_version", message)
    if "version" in data:
        yield Finding(CONFIG_FILE, "version", "deprecated: write schema_version")
    if config.multi_step_reward_strategy and not config.steps:
        yield Finding(CONFIG_FILE, "multi_step_reward_strategy", "has no effect without [[steps]]")
    yield from _table_findings(config, data, ())


def _table_findings(model: BaseModel, data: object, place: tuple[str | int, ...]) -> Iterator[Finding]:
    """Unknown keys, deprecated fields and text read as numbers, of a table and all below it."""
    raw = data if isinstance(data, dict) else {}
    for key in sorted(model.model_extra or {}):
        yield Finding(CONFIG_FILE, dotted((*place, key)), "unknown field: kept, but nothing reads it")
    for name in type(model).model_fields:
        if name not in raw:
            continue
        value, here = getattr(model, name), (*place, name)
        if isinstance(model, EnvironmentConfig) and name in _INSTEAD:
            unread = "" if isinstance(raw[name], str | bool) else ", and a number here is not read"
            yield Finding(CONFIG_FILE, dotted(here), f"deprecated{unread}: write {_INSTEAD[name]}")
        elif isinstance(raw[name], str) and isinstance(value, int | float):
            yield Finding(
                CONFIG_FILE, dotted(here), f"text {_cut(repr(raw[name]))} read as the number {value}: drop the quotes"
            )
        elif isinstance(value, BaseModel):
            yield from _table_findings(value, raw[name], here)
        elif isinstance(value, tuple):
            for index, item in enumerate(value):
                if isinstance(item, BaseModel):
                    yield from _table_findings(item, raw[name][index], (*here, index))
