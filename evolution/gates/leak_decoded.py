"""Other forms in which a file may hold a text: encodings, streams within binary files, rows of a database."""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from evolution.gates.leak_archives import Packed
from evolution.gates.leak_database import SQLITE_MAGIC, rows
from evolution.gates.leak_streams import inflated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEEPEST = 2
"""Encodings of encodings are undone this deep."""
MOST_FORMS = 400
MOST_BYTES = 32 * 1024 * 1024
MOST_INPUT = 4 * 1024 * 1024
MOST_MIRRORED = 1024 * 1024
MOST_STREAMS = 200
SHORTEST = 12
"""Bytes below which a decoded piece can tell nothing."""

_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}(?:\r?\n[ \t]*[A-Za-z0-9+/_-]{2,})*={0,2}")
_BASE32 = re.compile(rb"[A-Z2-7]{24,}(?:\r?\n[A-Z2-7]{2,})*={0,6}")
_HEX = re.compile(
    rb"[0-9a-fA-F]{28,}(?:\r?\n[0-9a-fA-F]{2,})*|(?:[0-9a-fA-F]{2}[ :]){13,}[0-9a-fA-F]{2}|(?:\\x[0-9a-fA-F]{2}){8,}"
)
_STREAM = re.compile(rb"\x1f\x8b\x08|BZh[1-9]1AY|\xfd7zXZ\0|x[\x01\x5e\x9c\xda]")
_MAGIC = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"PK\x03\x04", b"x\x9c", b"x\xda", SQLITE_MAGIC, b"PACK")
_TO_STANDARD = bytes.maketrans(b"-_", b"+/")
_LEAST_READABLE = 0.85
_ESCAPES = {"n": "\n", "t": "\t", "r": "", '"': '"', "'": "'", "\\": "\\", "/": "/"}
_HEAD = re.compile(
    r"^(?:\[[^\]\n]{1,40}\]|\d{4}-\d\d-\d\d[T ]?[\d:.,+Z-]{0,24}|\d\d:\d\d:\d\d[.,\d]{0,8}|"
    r"[A-Z][a-z]{2} [ \d]\d [\d:]{8})[ \t]?"
    r"(?:(?:[\w.-]{1,40}[ \t])?[\w.@/-]{1,40}(?:\[\d+\])?:(?:[ \t]|$))?",
    re.MULTILINE,
)
"""What loggers put before what was written: a time or a number, and who wrote it."""
_MOST_HAVE_HEADS: Final = 0.8
_ESCAPE = re.compile(r"\\([ntr\"'\\/])")


def decoded(path: str, content: bytes, on_cut: Callable[[str], None] = lambda _: None) -> Iterator[Packed]:
    """What a file's bytes are when an encoding in them is undone; bounded, and nothing for most files.

    Undone are base64, base32, hexadecimal, percent and backslash escapes, HTML entities, UTF-16, compressed streams
    that begin anywhere, the rows of SQLite databases, and what loggers put before each line.

    Args:
        path: What to call the file.
        content: Its bytes.
        on_cut: Told of each file that holds more than there is room for.
    """
    yield from _Decoder(on_cut).forms(path, content, DEEPEST)
    yield from _without_heads(path, content)


def mirrored(path: str, content: bytes) -> Iterator[Packed]:
    """A text by ROT13, backwards, and each of its lines backwards: what any text can be, so nobody can tell it is."""
    if b"\0" in content or not SHORTEST <= len(content) <= MOST_MIRRORED:
        return
    text = content.decode("utf-8", "replace")
    yield Packed(f"{path} (ROT13)", codecs.encode(text, "rot13").encode())
    backwards = text[::-1]
    yield Packed(f"{path} (backwards)", backwards.encode())
    yield Packed(f"{path} (lines backwards)", "\n".join(reversed(backwards.split("\n"))).encode())


def _without_heads(path: str, content: bytes) -> Iterator[Packed]:
    """A log without what its logger put before each line."""
    if b"\0" in content or not SHORTEST <= len(content) <= MOST_MIRRORED:
        return
    text = content.decode("utf-8", "replace")
    if len(_HEAD.findall(text)) > text.count("\n") * _MOST_HAVE_HEADS:
        yield Packed(f"{path} (without the heads of its lines)", _HEAD.sub("", text).encode())


class _Decoder:
    """What may still be decoded of one file."""

    def __init__(self, on_cut: Callable[[str], None]) -> None:
        self._forms = MOST_FORMS
        self._bytes = MOST_BYTES
        self._on_cut = on_cut

    def forms(self, path: str, content: bytes, depth: int) -> Iterator[Packed]:
        """All forms of some bytes, and the forms of those."""
        if depth == 0 or len(content) < SHORTEST:
            return
        if len(content) > MOST_INPUT:
            self._on_cut(path)
            return
        for name, data in _once(content, lambda: self._on_cut(path)):
            if len(data) < SHORTEST:
                continue
            self._forms -= 1
            self._bytes -= len(data)
            if self._forms < 0 or self._bytes < 0:
                self._on_cut(path)
                return
            form = f"{path} ({name})"
            yield Packed(form, data)
            yield from self.forms(form, data, depth - 1)


def _once(content: bytes, on_cut: Callable[[], None]) -> Iterator[tuple[str, bytes]]:
    if content.startswith(SQLITE_MAGIC):
        yield "rows of the database", rows(content, on_cut)
    yield from _wide(content)
    yield from _runs(content)
    yield from _streams(content)
    if b"\0" not in content:
        yield from _whole_text(content.decode("utf-8", "replace"))


def _wide(content: bytes) -> Iterator[tuple[str, bytes]]:
    sample = content[:4096]
    zeros = sample.count(b"\0") / len(sample)
    if not (0.3 <= zeros <= 0.6 or sample.startswith((b"\xff\xfe", b"\xfe\xff"))):  # noqa: PLR2004 - every other byte
        return
    is_big = sample.startswith(b"\xfe\xff") or sample[0:1] == b"\0"
    text = content.decode("utf-16-be" if is_big else "utf-16-le", "replace")
    yield "as UTF-16", text.lstrip("\ufeff").encode()


def _runs(content: bytes) -> Iterator[tuple[str, bytes]]:
    for match in _BASE64.finditer(content):
        run = re.sub(rb"\s", b"", match[0]).rstrip(b"=").translate(_TO_STANDARD)
        yield from _if_telling("base64", base64.b64decode(run[: len(run) - (len(run) % 4 == 1)] + b"==="))
    for match in _BASE32.finditer(content):
        run = re.sub(rb"\s", b"", match[0]).rstrip(b"=")
        try:
            yield from _if_telling("base32", base64.b32decode(run + b"=" * (-len(run) % 8)))
        except binascii.Error:
            continue
    for match in _HEX.finditer(content):
        run = re.sub(rb"[^0-9a-fA-F]", b"", match[0].replace(b"\\x", b""))
        yield from _if_telling("hexadecimal", binascii.unhexlify(run[: len(run) // 2 * 2]))


def _if_telling(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """A piece that is mostly text or begins like something packed; chance rarely makes one."""
    if data.startswith(_MAGIC):
        yield name, data
    elif len(data) >= SHORTEST:
        wide = data.replace(b"\0", b"")
        readable = sum(1 for byte in wide[:512] if 32 <= byte < 127 or byte in b"\t\n\r" or byte >= 194)  # noqa: PLR2004
        if wide and readable / len(wide[:512]) >= _LEAST_READABLE:
            yield name, data


def _streams(content: bytes) -> Iterator[tuple[str, bytes]]:
    tried = 0
    position = 0
    while tried < MOST_STREAMS and (match := _STREAM.search(content, position)):
        tried += 1
        position = match.start() + 1
        if match.start() == 0 and match[0][:1] != b"x":
            continue  # opened as the file it is
        found = inflated(content, match.start())
        # Two bytes make what may be a zlib stream, by chance as well; the others are known by more.
        if found.data and not (found.damaged and match[0].startswith(b"x")):
            yield f"compressed from byte {match.start()}", found.data
            position = max(position, found.end)


def _whole_text(text: str) -> Iterator[tuple[str, bytes]]:
    if len(re.findall(r"%[0-9A-Fa-f]{2}", text)) >= 4:  # noqa: PLR2004 - a percent sign or two are no encoding
        yield "URL-quoted", unquote(text, errors="replace").encode()
    if "\\n" in text or '\\"' in text:
        yield "escapes undone", _ESCAPE.sub(lambda match: _ESCAPES[match[1]], text).encode()
    if "&quot;" in text or "&lt;" in text or "&#" in text:
        yield "entities undone", html.unescape(text).encode("utf-8", "replace")
