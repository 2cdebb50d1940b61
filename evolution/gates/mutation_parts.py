"""The parts of an output that a test can forget: keys of JSON, columns of a table, lines of `key: value`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_JSON: Final = 256 * 1024
MAX_ROWS: Final = 20_000
MAX_COLUMNS: Final = 40
MAX_KEY_LINES: Final = 16
MAX_NAME: Final = 80

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')
_FIELD: Final = {
    mark: re.compile(rb'"(?:[^"]|"")*"|[^' + re.escape(mark) + rb"\n]*") for mark in (b",", b"\t", b";", b"|")
}
_WORDS: Final = re.compile(rb"[^ \n]+")
_KEY_LINE: Final = re.compile(rb"[ \t]*([\w][\w .-]{0,40}?)[ \t]*[:=][ \t]*(\S.*)")
_CELL: Final = re.compile(rb"-?\d+(?:\.\d+)?")

_WORDS_OF_JSON: Final = frozenset({b"true", b"false", b"null"})
# Numbers stay numbers: no digit becomes a leading 0.
_GARBLED: Final = bytes.maketrans(
    b"0123456789" + bytes(range(65, 91)) + bytes(range(97, 123)),
    b"3456789123" + b"Q" * 16 + b"Z" * 10 + b"q" * 16 + b"z" * 10,
)

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Part:
    """Values of an output that belong together.

    Attributes:
        kind: "key", "column" or "line".
        name: The key, or the column's heading or number.
        spans: Where the values stand, in bytes.
    """

    kind: str
    name: str
    spans: tuple[Span, ...]

    def __str__(self) -> str:
        return f"{self.kind} {self.name[:MAX_NAME]}"


def parts_of(path: str, content: bytes) -> tuple[Part, ...]:
    """The parts of some text by its form; none where it has no form that is known, or is no text at all."""
    if b"\0" in content:
        return ()
    if path.endswith((".json", ".jsonl")) or content.lstrip()[:1] in {b"{", b"["}:
        return tuple(_keys(content)) if len(content) <= MAX_JSON else ()
    return tuple(_columns(content)) or tuple(_key_lines(content))


def garbled(content: bytes, spans: Iterable[Span]) -> bytes:
    """The text with other digits and letters in some places; what is neither stays, and so do `true` and its like."""
    pieces, last = [], 0
    for start, end in sorted(spans):
        value = content[start:end]
        pieces += [content[last:start], value if value in _WORDS_OF_JSON else value.translate(_GARBLED)]
        last = end
    return b"".join([*pieces, content[last:]])


def without_part(content: bytes, part: Part) -> bytes | None:
    """JSON without a key; `None` for parts that cannot be left out without shifting others."""
    if part.kind != "key":
        return None
    try:
        value = json.loads(_text(content))
        text = _without(value, part.name, content)
    except (ValueError, RecursionError):  # deeper than it can be written with indents
        return None
    return text + (b"\n" if content.endswith(b"\n") else b"")


def _without(value: object, name: str, content: bytes) -> bytes:
    for holder in _holders(value):
        if isinstance(holder, dict):
            holder.pop(name, None)
    indent = re.search(rb"\n( +)\S", content)
    width = len(indent[1]) if indent else None
    try:
        return json.dumps(value, ensure_ascii=False, indent=width).encode()
    except UnicodeEncodeError:  # half of a pair of surrogates: JSON has a way to write it, UTF-8 has none
        return json.dumps(value, indent=width).encode()


def _text(content: bytes) -> str:
    """JSON in UTF-8: `json.loads` would guess at others, of which the spans are no bytes of the text."""
    return content.decode("utf-8-sig", "surrogatepass")


def _keys(content: bytes) -> Iterator[Part]:
    try:
        value = json.loads(_text(content))
    except (ValueError, RecursionError):
        return
    holders = list(_holders(value))
    level = _levels(value)
    if not all(isinstance(holder, dict) for holder in holders):
        return
    spans: dict[str, list[Span]] = {}
    for path, span in _scalars(content):
        if len(path) > level:
            spans.setdefault(path[level], []).append(span)
    for name, found in spans.items():
        yield Part("key", name, tuple(found))


def _levels(value: object) -> int:
    """How many levels of lists, and of objects that are alike, lie above the objects whose keys are the parts."""
    level = 0
    while True:
        inner = _inner(value)
        if not inner:
            return level
        value, level = inner[0], level + 1


def _holders(value: object) -> list[object]:
    """What lies below the levels of `_levels`."""
    found = [value]
    for _ in range(_levels(value)):
        found = [inner for holder in found for inner in _inner(holder) or _all(holder)]
    return found


def _inner(value: object) -> list[object]:
    """The values of a list, or of an object of objects with the same keys."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and len(value) > 1 and all(isinstance(item, dict) and item for item in value.values()):
        keys = {tuple(sorted(item)) for item in value.values()}
        return list(value.values()) if len(keys) == 1 else []
    return []


def _all(value: object) -> list[object]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def _scalars(content: bytes) -> Iterator[tuple[tuple[str, ...], Span]]:
    """Every scalar of JSON that parses, with the keys (for items of a list "") that lead to it."""
    # As Latin-1 every byte is a character, so that offsets are those of the bytes.
    tokens = list(_TOKEN.finditer(content.decode("latin-1")))
    path: list[str] = []
    kinds: list[str] = []
    for number, match in enumerate(tokens):
        text = match[0]
        following = tokens[number + 1][0] if number + 1 < len(tokens) else ""
        if text in "{[":
            kinds.append(text)
            path.append("")
        elif text in "}]":
            kinds.pop()
            path.pop()
        elif text in ":,":
            continue
        elif following == ":" and kinds and kinds[-1] == "{":
            path[-1] = json.loads(text.encode("latin-1"))
        else:
            yield tuple(path), match.span()


def _columns(content: bytes) -> Iterator[Part]:
    lines = content.split(b"\n", MAX_ROWS)[:MAX_ROWS]
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) < 2:  # noqa: PLR2004 - one line is no table
        return
    for mark in (b",", b"\t", b";", b"|", b" "):
        rows = _rows(lines, mark)
        if rows:
            break
    else:
        return
    first = [content[start:end] for start, end in rows[0]]
    has_heading = mark != b" " and all(cell and not _CELL.fullmatch(cell) for cell in first)
    for column in range(len(rows[0])):
        spans = [row[column] for row in rows[has_heading:]]
        name = first[column].decode("utf-8", "replace") if has_heading else str(column + 1)
        filled = tuple(span for span in spans if span[1] > span[0])
        if filled:
            yield Part("column", name, filled)


def _rows(lines: list[bytes], mark: bytes) -> list[list[Span]]:
    """The spans of every field, where all lines have as many of them, and more than one."""
    rows: list[list[Span]] = []
    start = 0
    for line in lines:
        found = (match.span() for match in _WORDS.finditer(line)) if mark == b" " else _fields(line, mark)
        fields = list(islice(found, MAX_COLUMNS + 1))
        if not 1 < len(fields) <= MAX_COLUMNS or (rows and len(fields) != len(rows[0])):
            return []
        rows.append([(start + first, start + last) for first, last in fields])
        start += len(line) + 1
    return rows


def _fields(line: bytes, mark: bytes) -> Iterator[Span]:
    place = 0
    while True:
        match = _FIELD[mark].match(line, place)
        end = match.end() if match else place
        yield place, end
        if line[end : end + 1] != mark:
            return
        place = end + 1


def _key_lines(content: bytes) -> Iterator[Part]:
    if content.count(b"\n") >= MAX_KEY_LINES:
        return
    lines = content.split(b"\n")
    start = 0
    for line in lines:
        match = _KEY_LINE.fullmatch(line)
        if match:
            yield Part("line", match[1].decode("utf-8", "replace"), ((start + match.start(2), start + match.end(2)),))
        start += len(line) + 1
