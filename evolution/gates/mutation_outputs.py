"""Outputs spoiled directly: one file of what the reference solution left, changed in one small way."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Literal

from evolution.gates.mutation_database import MAGIC, database_changes
from evolution.gates.mutation_edits import Edit
from evolution.gates.mutation_languages import code_edits, drawn_edits
from evolution.gates.mutation_parts import garbled, parts_of, without_part
from evolution.gates.mutation_state import Entry, State, with_content
from evolution.gates.mutation_values import MAX_VALUE, other_value

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

Group = Literal["gone", "lines", "content"]

MAX_TEXT: Final = 2 << 20
MAX_CODE: Final = 256 * 1024
"""Bytes; larger programs are plain text here."""
MAX_PARTS: Final = 12
REST: Final = "what follows the first line"
"""The part of a text that a test of its first line leaves out."""
_ANY_ORDER: Final = re.compile(
    r"any order|(?:order|sequence) (?:does not|doesn't|is not|isn't) (?:matter|important)", re.IGNORECASE
)
_ORDER: Final = re.compile(r"\b(?:sort|order|ascend|descend|alphabetic|first|last|chronolog)", re.IGNORECASE)
_GARBAGE: Final = bytes(byte ^ 0x55 for byte in range(256))


@dataclass(frozen=True, slots=True)
class Spoiled:
    """An output as it is put into the place of the reference's; many are thought of and few are made.

    Attributes:
        path: Where.
        base: What lies there then, but for the edit; `None` for nothing.
        kind: What sort of change it is.
        group: How easily it is noticed: by any test, by one that counts lines, or by one that reads.
        says: For a person.
        part: The key or column that alone is changed; "" where it is not one.
        edit: The change of what is in it.
    """

    path: str
    base: Entry | None
    kind: str
    group: Group
    says: str
    part: str = ""
    edit: Edit | None = None

    @property
    def entry(self) -> Entry | None:
        """What lies there then; made anew each time."""
        if self.base is None or self.edit is None:
            return self.base
        return with_content(self.base, self.edit.applied(self.base.content))


def spoiled(
    path: str, entry: Entry, before: State, text: str, rng: random.Random, *, most: int = MAX_PARTS
) -> list[Spoiled]:
    """Ways to spoil an output; the places in it are drawn from `rng`.

    Args:
        path: Where it lies.
        entry: What the reference solution left there.
        before: What lay at the outputs' paths before.
        text: The instruction.
        rng: Where chance comes from.
        most: How many changes of a program at most.
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
        found += _contents(path, entry, text, rng, most)
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
    new = content.translate(_GARBAGE) if binary else garbled(content, spans)
    if new == content:
        return None
    says = f"all of {part} replaced by garbage" if part else "all of it replaced by garbage"
    return Spoiled(path, with_content(entry, new), "garbage", "content", says, part)


_Change = tuple[Edit, Group, str]
"""A change of bytes, how easily it is noticed, and the part that it changes alone."""


def _contents(path: str, entry: Entry, text: str, rng: random.Random, most: int) -> Iterator[Spoiled]:
    content = entry.content
    if content.startswith(MAGIC):
        changes = _database(content, rng) or _binary(content)
    elif b"\0" in content or len(content) > MAX_TEXT or not _is_utf8(content):
        changes = _binary(content)
    else:
        changes = _program(path, content, rng, most)
        changes = changes or [*_parts(path, content, rng), *_lines(path, content, text, rng)]
    for edit, group, part in changes:
        if edit.changes(content):
            yield Spoiled(path, entry, edit.kind, group, edit.says, part, edit)


def _program(path: str, content: bytes, rng: random.Random, most: int) -> list[_Change]:
    if len(content) > MAX_CODE:
        return []
    found = [(path, content, edit) for edit in code_edits(path, content)]
    return [(edit, "content", "") for _, _, edit in drawn_edits(found, most, rng)]


def _database(content: bytes, rng: random.Random) -> list[_Change]:
    return [
        (Edit(0, len(content), changed, kind, says), "lines" if kind == "row" else "content", "")
        for kind, says, changed in database_changes(content, rng)
    ]


def _binary(content: bytes) -> list[_Change]:
    middle = len(content) // 2
    flipped = bytes([content[middle] ^ 0x55])
    return [
        (Edit(middle, middle + 1, flipped, "byte", f"byte {middle} changed"), "content", ""),
        (Edit(middle, len(content), b"", "truncated", "cut to its first half"), "lines", ""),
    ]


def _parts(path: str, content: bytes, rng: random.Random) -> Iterator[_Change]:
    """One value of each key or column changed."""
    parts = list(parts_of(path, content))
    for part in rng.sample(parts, min(len(parts), MAX_PARTS)):
        start, end = rng.choice(part.spans)
        old = content[start : min(end, start + MAX_VALUE)]
        edit = other_value(old, rng)
        if edit is not None:
            was, new = (value.decode("utf-8", "replace")[:40] for value in (old, edit.applied(old)))
            yield replace(edit.moved(start), says=f"{part}: {was} becomes {new}"), "content", part.name
    if parts and path.endswith(".json"):
        part = rng.choice(parts)
        left = without_part(content, part)
        if left is not None:
            yield Edit(0, len(content), left, "key", f"{part} left out"), "lines", ""


def _lines(path: str, content: bytes, text: str, rng: random.Random) -> Iterator[_Change]:
    """Changes of lines, for text of any kind; the last line of JSON is no line of its own."""
    lines = content.splitlines(keepends=True)
    starts = [0, *accumulate(len(line) for line in lines)]
    for _ in range(2):
        number = rng.randrange(len(lines))
        edit = other_value(lines[number], rng)
        if edit is not None:
            edit = replace(edit.moved(starts[number]), kind="digit", says=f"line {number + 1} changed")
            yield edit, "content", ""
    if len(lines) < 2 or path.endswith((".json", ".xml", ".html")):  # noqa: PLR2004 - two lines to choose from
        return
    yield Edit(starts[-2], starts[-1], b"", "last-line", "the last line dropped"), "lines", ""
    number = rng.randrange(len(lines))
    again = lines[number] if lines[number].endswith(b"\n") else b"\n" + lines[number]
    yield Edit(starts[number + 1], starts[number + 1], again, "duplicate", f"line {number + 1} twice"), "lines", ""
    pairs = [
        n for n in range(1, len(lines) - 1) if lines[n].strip() != lines[n + 1].strip() and lines[n + 1].endswith(b"\n")
    ]
    if pairs and _ORDER.search(text) and not _ANY_ORDER.search(text):
        n = rng.choice(pairs)
        says = f"lines {n + 1} and {n + 2} swapped"
        yield Edit(starts[n], starts[n + 2], lines[n + 1] + lines[n], "swap", says), "content", ""


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
