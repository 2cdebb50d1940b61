"""The same result in another form: JSON with other blanks, key order, escapes or numbers, ends of files, hex case."""

from __future__ import annotations

import json
import posixpath
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from evolution.gates.alternative_wording import Respect, is_open

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_BYTES: Final = 1 << 20
MAX_DEPTH: Final = 100
"""Lists and objects inside each other that are written otherwise; deeper ones stay as they are."""
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
_ANY_HEX_DIGEST: Final = re.compile(_HEX_DIGEST.pattern.encode(), re.IGNORECASE)
_IN_JSON: Final = frozenset[Respect](["json-whitespace", "json-key-order", "json-escapes", "number-format"])
_WAYS: Final = (0, 1)
_INDENTS: Final = ("", " ", "  ", "   ", "    ", "\t")
_LEAD: Final = re.compile(r"[\[{]\n([ \t]*)")


@dataclass(frozen=True, slots=True)
class Form:
    """How a result may be written otherwise.

    Attributes:
        respects: In which respects it differs from the reference's.
        way: 0 or 1: JSON on one line with its keys backwards, or indented by four with its keys in order.
    """

    respects: frozenset[Respect]
    way: int = 0


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where a writer of JSON puts white space.

    Attributes:
        indent: As `json.dumps` takes it.
        separators: Those between items, and between keys and values.
    """

    indent: int | str | None
    separators: tuple[str, str]

    def written(self, value: object, *, ascii_only: bool) -> str:
        return json.dumps(value, indent=self.indent, separators=self.separators, ensure_ascii=ascii_only)


@dataclass(frozen=True, slots=True)
class _Document:
    """A JSON text.

    Attributes:
        value: What it holds.
        layout: How it was written; `None` where no common writer writes so.
    """

    value: object
    layout: _Layout | None


def open_respects(instruction: str, path: str, content: bytes) -> frozenset[Respect]:
    """The respects in which an output could be written otherwise, both by its contents and by the instruction."""
    return frozenset(
        respect
        for respect in RESPECTS
        if any(rewritten(path, content, Form(frozenset({respect}), way)) != content for way in _WAYS)
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
    lowered = {path: content.lower() for path, content in files.items()}
    for path, content in files.items():
        sums = [
            hashlib.new(kind, content, usedforsecurity=False).hexdigest().encode()
            for kind in ("sha256", "md5", "sha1", "sha512")
        ]
        others = (other for name, other in lowered.items() if name != path)
        if not any(found in other for other in others for found in sums):
            kept[path] = content
    return kept


def with_lower_digests(content: bytes) -> bytes:
    """Contents with the hexadecimal digits of digests in lower case, and nothing else changed."""
    return _ANY_HEX_DIGEST.sub(lambda match: match[0].lower(), content)


def _json(text: str, form: Form) -> str:
    document = _document(text)
    if document is None:
        return text
    body, end = text.rstrip("\n"), "\n" if text.endswith("\n") else ""
    if form.respects & _IN_JSON:
        layout = _Layout(4, (",", ": ")) if form.way == 1 else _Layout(None, (",", ":"))
        body = _written(document, body, form, layout)
    if "final-newline" in form.respects:
        end = "" if end else "\n"
    return body + end


def _json_lines(text: str, form: Form) -> str:
    """Each line stays one, and the end of the last one stays too: readers of lines differ in whether they want it."""
    if not form.respects & _IN_JSON:
        return text
    layout = _Layout(None, (",", ":") if form.way == 1 else (", ", ": "))
    lines = []
    for line in text.split("\n"):
        document = _read(line) if line.strip() else None
        lines.append(line if document is None else _written(document, line, form, layout))
    return "\n".join(lines)


def _plain(text: str, form: Form) -> str:
    """A single value without or with the end of its line; a text of several lines only gets what it lacks."""
    if "final-newline" not in form.respects or not text.strip():
        return text
    if not text.endswith("\n"):
        return f"{text}\n"
    return text[:-1] if text.count("\n") == 1 else text


def _read(text: str) -> _Document | None:
    """A JSON object or list that comes back as it was when it is written down again; `None` for anything else."""
    doubled: list[str] = []

    def pairs(found: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(found)
        if len(made) != len(found):
            doubled.append("")
        return made

    try:
        value: object = json.loads(text, object_pairs_hook=pairs)
        if not isinstance(value, dict | list) or not value or doubled or _is_deep(value) or _odd_floats(text):
            return None
        again = json.dumps(value, ensure_ascii=False)
        again.encode("utf-8")  # half a surrogate pair cannot be written otherwise than escaped
        exact = json.loads(again) == value and "NaN" not in text and "Infinity" not in text
    except (ValueError, RecursionError):
        return None
    return _Document(value, _layout_of(value, text.rstrip("\n"))) if exact else None


_document = lru_cache(maxsize=4)(_read)
"""An output is asked about in each respect and way, one after the other."""


def _is_deep(value: object) -> bool:
    """Whether lists and objects are nested more deeply than what goes over them can follow."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True


def _odd_floats(text: str) -> bool:
    """Whether a number is written as Python would not write it (1.50, 1e3): another form would change its digits."""
    outside = re.sub(r"\"(?:[^\"\\]|\\.)*\"", '""', text)
    return any(
        repr(float(number)) != number
        for number in re.findall(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", outside)
        if not re.fullmatch(r"-?\d+", number)
    )


def _written(document: _Document, before: str, form: Form, layout: _Layout) -> str:
    """A document in another form; in `layout` only where the form differs in white space."""
    value = document.value
    if "number-format" in form.respects:
        value = _integral(value)
    if "json-key-order" in form.respects:
        value = _reordered(value, form.way)
    ascii_now = before.isascii() and "\\u" in before
    if "json-escapes" in form.respects:
        ascii_now = not ascii_now
    chosen = layout if "json-whitespace" in form.respects else document.layout
    return before if chosen is None else chosen.written(value, ascii_only=ascii_now)


def _layout_of(value: object, text: str) -> _Layout | None:
    """In what layout a common writer wrote this value so; `None` where none did."""
    lead = _LEAD.match(text)
    indent = lead[1] if lead else None
    if indent is not None and indent not in _INDENTS:
        return None
    ascii_only = text.isascii() and "\x7f" not in text
    usual = (", ", ": ") if indent is None else (",", ": ")
    for separators in dict.fromkeys((usual, (", ", ": "), (",", ":"), (",", ": "))):
        layout = _Layout(indent, separators)
        if layout.written(value, ascii_only=ascii_only) == text:
            return layout
    return None


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
