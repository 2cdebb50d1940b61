"""Outputs spoiled directly: one file of what the reference solution left, changed in one small way."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from evolution.gates.mutation_edits import Edit, generic_edits
from evolution.gates.mutation_parts import garbled, parts_of, without_part
from evolution.gates.mutation_python import is_python, python_edits
from evolution.gates.mutation_shell import shell_edits
from evolution.gates.mutation_state import Entry, State, with_content

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

Group = Literal["gone", "lines", "content"]

MAX_TEXT: Final = 2 << 20
MAX_PARTS: Final = 12
REST: Final = "what follows the first line"
"""The part of a text that a test of its first line leaves out."""
_WORD: Final = re.compile(rb"[A-Za-z]{2,}")
_NUMBER: Final = re.compile(rb"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])")
_DIGITS: Final = re.compile(rb"\d")
_ANY_ORDER: Final = re.compile(
    r"any order|(?:order|sequence) (?:does not|doesn't|is not|isn't) (?:matter|important)", re.IGNORECASE
)
_ORDER: Final = re.compile(r"\b(?:sort|order|ascend|descend|alphabetic|first|last|chronolog)", re.IGNORECASE)
_PROGRAMS: Final = (
    ".c",
    ".h",
    ".cc",
    ".cpp",
    ".js",
    ".ts",
    ".go",
    ".rs",
    ".java",
    ".pl",
    ".rb",
    ".lua",
    ".awk",
    ".sed",
)


@dataclass(frozen=True, slots=True)
class Spoiled:
    """An output as it is put into the place of the reference's.

    Attributes:
        path: Where.
        entry: What lies there then; `None` for nothing.
        kind: What sort of change it is.
        group: How easily it is noticed: by any test, by one that counts lines, or by one that reads.
        says: For a person.
        part: The key or column that alone is changed; "" where it is not one.
    """

    path: str
    entry: Entry | None
    kind: str
    group: Group
    says: str
    part: str = ""


def spoiled(path: str, entry: Entry, before: State, text: str, rng: random.Random) -> list[Spoiled]:
    """All ways to spoil an output; the places in it are drawn from `rng`.

    Args:
        path: Where it lies.
        entry: What the reference solution left there.
        before: What lay at the outputs' paths before.
        text: The instruction.
        rng: Where chance comes from.
    """
    old = before.get(path)
    if entry.kind == "folder":
        return [] if old is None or old == entry else [Spoiled(path, old, "undone", "content", "as it was before")]
    if old is not None and old.kind == entry.kind and old.content == entry.content:
        return [Spoiled(path, old, "undone", "content", f"as it was before: {old}")]
    found = [Spoiled(path, None, "removed", "gone", "removed")]
    if old is not None:
        found.append(Spoiled(path, old, "undone", "content", "as it was before"))
    if entry.kind == "link":
        elsewhere = replace(entry, content=entry.content + b".x")
        return [*found, Spoiled(path, elsewhere, "link", "content", f"{elsewhere}, not {entry}")]
    if entry.content:
        found.append(Spoiled(path, with_content(entry, b""), "emptied", "gone", "emptied"))
        found += [item for item in _contents(path, entry, text, rng) if item.entry != entry]
    return found


def garbage(path: str, entry: Entry, part: str = "") -> Spoiled | None:
    """An output in which nothing is right any more, or one part of it; its form stays as far as that can be.

    Where this goes unnoticed nobody looks at what is there. `None` where there is no such change.
    """
    if entry.kind != "file" or not entry.content:
        return None
    content, parts = entry.content, parts_of(path, entry.content)
    if part == REST:
        spans = [(content.find(b"\n") + 1, len(content))] if content.count(b"\n") > 1 else []
    elif part:
        spans = [span for known in parts if known.name == part for span in known.spans]
    else:
        spans = [span for known in parts for span in known.spans if known.kind == "key"] or [(0, len(content))]
    binary = b"\0" in content and not part
    new = bytes(byte ^ 0x55 for byte in content) if binary else garbled(content, spans)
    if new == content:
        return None
    says = f"all of {part} replaced by garbage" if part else "all of it replaced by garbage"
    return Spoiled(path, with_content(entry, new), "garbage", "content", says, part)


def _contents(path: str, entry: Entry, text: str, rng: random.Random) -> Iterator[Spoiled]:
    content = entry.content
    if content.startswith(b"SQLite format 3\0"):
        changes = _database(content, rng)
    elif b"\0" in content or len(content) > MAX_TEXT or not _is_utf8(content):
        changes = _binary(content)
    elif edits := _program(path, content):
        changes = [(edit.kind, "content", edit.says, "", edit.applied(content)) for edit in edits]
    else:
        changes = [*_parts(path, content, rng), *_lines(path, content, text, rng)]
    for kind, group, says, part, changed in changes:
        yield Spoiled(path, with_content(entry, changed), kind, group, says, part)


_Change = tuple[str, Group, str, str, bytes]


def _program(path: str, content: bytes) -> list[Edit]:
    first = content.split(b"\n", 1)[0]
    if path.endswith(".py") or (first.startswith(b"#!") and b"python" in first):
        return list(python_edits(content)) if is_python(content) else []
    if path.endswith((".sh", ".bash")) or (first.startswith(b"#!") and b"sh" in first):
        return list(shell_edits(content))
    return list(generic_edits(content)) if path.endswith(_PROGRAMS) or first.startswith(b"#!") else []


def _binary(content: bytes) -> list[_Change]:
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 0x55]) + content[middle + 1 :]
    return [
        ("byte", "content", f"byte {middle} changed", "", flipped),
        ("truncated", "lines", "cut to its first half", "", content[:middle]),
    ]


def _parts(path: str, content: bytes, rng: random.Random) -> Iterator[_Change]:
    """One value of each key or column changed."""
    parts = list(parts_of(path, content))
    for part in rng.sample(parts, min(len(parts), MAX_PARTS)):
        start, end = rng.choice(part.spans)
        new = _other_value(content[start:end], rng)
        if new is not None:
            old = content[start:end].decode("utf-8", "replace")
            says = f"{part}: {old[:40]} becomes {new.decode('utf-8', 'replace')[:40]}"
            yield "value", "content", says, part.name, content[:start] + new + content[end:]
    if parts and path.endswith(".json"):
        part = rng.choice(parts)
        left = without_part(content, part)
        if left is not None:
            yield "key", "lines", f"{part} left out", "", left


def _other_value(value: bytes, rng: random.Random) -> bytes | None:
    """Another value of the same sort: a number one greater or with another first digit, a word with another letter."""
    numbers, words = list(_NUMBER.finditer(value)), list(_WORD.finditer(value))
    if value in {b"true", b"false"}:
        return b"false" if value == b"true" else b"true"
    if value == b"null":
        return b"1"
    if numbers:
        match = rng.choice(numbers)
        if b"." not in match[0]:
            new = str(int(match[0]) + 1).encode().rjust(len(match[0]), b"0")
        else:  # the first digit: the last one may be within what a test tolerates
            new = _DIGITS.sub(lambda digit: str((int(digit[0]) + 1) % 10).encode(), match[0], count=1)
        return value[: match.start()] + new + value[match.end() :]
    if words:
        place = rng.choice(words).start()
        return value[:place] + (b"q" if value[place : place + 1] != b"q" else b"k") + value[place + 1 :]
    digit = _DIGITS.search(value)
    if digit:
        new = str((int(digit[0]) + 1) % 10).encode()
        return value[: digit.start()] + new + value[digit.end() :]
    return None


def _lines(path: str, content: bytes, text: str, rng: random.Random) -> Iterator[_Change]:
    """Changes of lines, for text of any kind; the last line of JSON is no line of its own."""
    lines = content.splitlines(keepends=True)
    for _ in range(2):
        number = rng.randrange(len(lines))
        new = _other_value(lines[number], rng)
        if new is not None:
            changed = b"".join([*lines[:number], new, *lines[number + 1 :]])
            yield "digit", "content", f"line {number + 1} changed", "", changed
    if len(lines) < 2 or path.endswith((".json", ".xml", ".html")):  # noqa: PLR2004 - two lines to choose from
        return
    yield "last-line", "lines", "the last line dropped", "", b"".join(lines[:-1])
    number = rng.randrange(len(lines))
    again = lines[number] if lines[number].endswith(b"\n") else b"\n" + lines[number]
    twice = [*lines[: number + 1], again, *lines[number + 1 :]]
    yield "duplicate", "lines", f"line {number + 1} twice", "", b"".join(twice)
    pairs = [
        n for n in range(1, len(lines) - 1) if lines[n].strip() != lines[n + 1].strip() and lines[n + 1].endswith(b"\n")
    ]
    if pairs and _ORDER.search(text) and not _ANY_ORDER.search(text):
        n = rng.choice(pairs)
        swapped = [*lines[:n], lines[n + 1], lines[n], *lines[n + 2 :]]
        yield "swap", "content", f"lines {n + 1} and {n + 2} swapped", "", b"".join(swapped)


def _database(content: bytes, rng: random.Random) -> list[_Change]:
    """A row deleted, a value changed, in a table drawn from those with rows."""
    found: list[_Change] = []
    for kind, group in (("row", "lines"), ("value", "content"), ("value", "content"), ("value", "content")):
        opened = sqlite3.connect(":memory:")
        try:
            opened.deserialize(content)
            opened.execute("PRAGMA trusted_schema=OFF")
            says = _database_change(opened, kind, rng)
            if says:
                opened.commit()
                found.append((kind, group, says, "", opened.serialize()))  # type: ignore[arg-type]
        except sqlite3.Error:
            return found or _binary(content)
        finally:
            opened.close()
    return found or _binary(content)


def _database_change(opened: sqlite3.Connection, kind: str, rng: random.Random) -> str:
    names = [row[0] for row in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    tables = [f'"{name}"' for name in names if not name.startswith("sqlite_") and '"' not in name]
    tables = [name for name in tables if opened.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone()]  # noqa: S608 - quoted
    if not tables:
        return ""
    table = rng.choice(tables)
    rows = [row[0] for row in opened.execute(f"SELECT rowid FROM {table} ORDER BY rowid LIMIT 5000")]  # noqa: S608 - quoted
    row = rng.choice(rows)
    if kind == "row":
        opened.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))  # noqa: S608 - quoted
        return f"row {row} of table {table} deleted"
    columns = [column[1] for column in opened.execute(f"PRAGMA table_info({table})") if not column[5]]
    columns = [name for name in columns if '"' not in name]
    if not columns:
        return ""
    column = rng.choice(columns)
    opened.execute(
        f"UPDATE {table} SET \"{column}\" = CASE WHEN typeof(\"{column}\") IN ('integer', 'real') "  # noqa: S608 - quoted
        f"THEN \"{column}\" + 1 ELSE coalesce(\"{column}\", '') || 'x' END WHERE rowid = ?",
        (row,),
    )
    return f"{column} of row {row} of table {table} changed"


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
