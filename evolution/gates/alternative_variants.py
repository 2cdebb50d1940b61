"""The same result in another form: JSON with other blanks, key order, escapes or numbers, ends of files, hex case."""

from __future__ import annotations

import json
import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evolution.gates.alternative_wording import Respect, is_open

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_BYTES: Final = 1 << 20
JSON_ENDINGS: Final = (".json",)
LINES_ENDINGS: Final = (".jsonl", ".ndjson")
RESPECTS: Final[tuple[Respect, ...]] = (
    "json-whitespace",
    "json-key-order",
    "json-escapes",
    "number-format",
    "final-newline",
    "letter-case",
)
_HEX_DIGEST = re.compile(
    r"(?<![0-9A-Za-z])(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})(?![0-9A-Za-z])"
)
_INDENTS: Final = {0: None, 1: 4}


@dataclass(frozen=True, slots=True)
class Form:
    """How a result may be written otherwise.

    Attributes:
        respects: In which respects it differs from the reference's.
        way: 0 or 1: JSON on one line with its keys backwards, or indented by four with its keys in order.
    """

    respects: frozenset[Respect]
    way: int = 0


def open_respects(instruction: str, path: str, content: bytes) -> frozenset[Respect]:
    """The respects in which an output could be written otherwise, both by its contents and by the instruction."""
    return frozenset(
        respect
        for respect in RESPECTS
        if any(rewritten(path, content, Form(frozenset({respect}), way)) != content for way in _INDENTS)
        and is_open(instruction, path, respect)
    )


def rewritten(path: str, content: bytes, form: Form) -> bytes:
    """An output in another form; as it is where it cannot be read, or holds what another form could lose."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return content
    ending = posixpath.splitext(path)[1]
    if ending in JSON_ENDINGS:
        changed = _json(text, form)
    elif ending in LINES_ENDINGS:
        changed = _json_lines(text, form)
    else:
        changed = _plain(text, form)
    if "letter-case" in form.respects:
        changed = _HEX_DIGEST.sub(lambda match: match[0].upper(), changed)
    return changed.encode("utf-8")


def independent(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files without those whose checksum is in another one: their form is not free any more."""
    import hashlib

    kept = {}
    for path, content in files.items():
        sums = [
            hashlib.new(kind, content, usedforsecurity=False).hexdigest().encode()
            for kind in ("sha256", "md5", "sha1", "sha512")
        ]
        others = (other.lower() for name, other in files.items() if name != path)
        if not any(found in other for other in others for found in sums):
            kept[path] = content
    return kept


def _json(text: str, form: Form) -> str:
    value = _parsed(text)
    if value is None:
        return text
    if "number-format" in form.respects:
        value = _integral(value)
    if "json-key-order" in form.respects:
        value = _reordered(value, form.way)
    body, end = text.rstrip("\n"), "\n" if text.endswith("\n") else ""
    if form.respects & {"json-whitespace", "json-key-order", "json-escapes", "number-format"}:
        body = _dumped(value, body, form)
    if "final-newline" in form.respects:
        end = "" if end else "\n"
    return body + end


def _json_lines(text: str, form: Form) -> str:
    lines = text.split("\n")
    inner = Form(form.respects - {"final-newline"}, 0)
    changed = []
    for line in lines:
        value = _parsed(line) if line.strip() else None
        if value is None:
            changed.append(line)
            continue
        if "json-key-order" in inner.respects:
            value = _reordered(value, form.way)
        changed.append(_dumped(value, line, inner, spaced=form.way == 1))
    return "\n".join(changed)


def _plain(text: str, form: Form) -> str:
    """A single value without or with the end of its line; a text of several lines only gets what it lacks."""
    if "final-newline" not in form.respects or not text.strip():
        return text
    if not text.endswith("\n"):
        return f"{text}\n"
    return text[:-1] if text.count("\n") == 1 else text


def _parsed(text: str) -> object:
    """A JSON object or list that comes back as it was when it is written down again; `None` for anything else."""
    doubled: list[str] = []

    def pairs(found: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(found)
        if len(made) != len(found):
            doubled.append("")
        return made

    try:
        value: object = json.loads(text, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return None
    exact = json.loads(json.dumps(value)) == value and "NaN" not in text and "Infinity" not in text
    return (
        value if isinstance(value, dict | list) and value and exact and not doubled and not _odd_floats(text) else None
    )


def _odd_floats(text: str) -> bool:
    """Whether a number is written as Python would not write it (1.50, 1e3): another form would change its digits."""
    outside = re.sub(r"\"(?:[^\"\\]|\\.)*\"", '""', text)
    return any(
        repr(float(number)) != number
        for number in re.findall(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", outside)
        if not re.fullmatch(r"-?\d+", number)
    )


def _dumped(value: object, before: str, form: Form, *, spaced: bool = True) -> str:
    ascii_before = before.isascii()
    ascii_now = ascii_before and "\\u" in before
    if "json-escapes" in form.respects:
        ascii_now = not ascii_now
    if "json-whitespace" not in form.respects:
        return _in_the_same_layout(value, before, ascii_now=ascii_now)
    if form.way == 0:
        separators = (",", ":") if spaced and form.way == 0 else (", ", ": ")
        return json.dumps(value, ensure_ascii=ascii_now, separators=separators)
    return json.dumps(value, ensure_ascii=ascii_now, indent=_INDENTS[form.way])


def _in_the_same_layout(value: object, before: str, *, ascii_now: bool) -> str:
    """As before, as far as it was written by a common writer; else on one line with the usual blanks."""
    original = json.loads(before)
    for indent in (None, 2, 4, 1, 3, 0, "\t"):
        for separators in ((", ", ": "), (",", ":"), (",", ": ")):
            for escaped in (True, False):
                if json.dumps(original, indent=indent, separators=separators, ensure_ascii=escaped) == before:
                    return json.dumps(value, indent=indent, separators=separators, ensure_ascii=ascii_now)
    return before


def _reordered(value: object, way: int) -> object:
    if isinstance(value, dict):
        names = list(value)[::-1] if way == 0 else sorted(value)
        return {name: _reordered(value[name], way) for name in names}
    return [_reordered(item, way) for item in value] if isinstance(value, list) else value


def _integral(value: object) -> object:
    if isinstance(value, dict):
        return {name: _integral(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_integral(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53 else value


def respects_of(open_ones: Iterable[frozenset[Respect]]) -> tuple[Respect, ...]:
    """All respects that some output leaves open, in order."""
    found = frozenset[Respect]().union(*open_ones)
    return tuple(respect for respect in RESPECTS if respect in found)
