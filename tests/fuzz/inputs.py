"""Random inputs that stay the same for the same seed: noise, JSON that is almost right, and damage done to good input."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

ODD_TEXTS = (
    "",
    " ",
    "\x00",
    "a\x00b",
    "\ud800",
    "x\udcffy",
    "\ufeff",
    "\u2028",
    "\U0001f600",
    "e\u0301",
    "\x1b[2J",
    "\r\n",
    "../../etc/passwd",
    "/",
    "a" * 5000,
    "٣",
    "NaN",
    "${A:-${B}}",
    "$(",
    "[z-a]",
    "true",
    "null",
    "0",
)
ODD_NUMBERS = (
    "0",
    "-0",
    "1",
    "-1",
    "1e999",
    "-1e999",
    "1e-999",
    "NaN",
    "Infinity",
    "-Infinity",
    "nan",
    "inf",
    "9" * 19,
    "9" * 400,
    "9" * 5000,
    "0x" + "f" * 5000,
    "0b1",
    "1_000",
    "01",
    "1.",
    ".5",
    "1e5",
    "1" + "0" * 400 + ".5",
)
ODD_BYTES = (
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\r\n",
    b"\r",
    b"\n",
    b"\\ud800",
    b"\xed\xa0\x80",
    b'"',
    b"'",
    b"\\",
    b"[" * 3000,
    b"{" * 3000,
    b'{"a":' * 1200,
    b"(" * 500,
    b"${A:-" * 800,
    b"9" * 5000,
    b"0x" + b"F" * 5000,
    b"NaN",
    b"1e999",
    b"a." * 3000,
    b"\x1b[31m",
)
ALPHABETS = (
    bytes(range(256)),
    bytes(range(32, 127)) + b"\n",
    b'{}[]":,0123456789.eE+-truefalsn\\ ',
    b"=[]{}.\"'#\n abc019-_:",
    b"\x00\x01\x7f\x80\xc0\xff",
    b" \t\r\n",
)


def noise(random: Random) -> bytes:
    """Bytes that mean nothing, of one of several alphabets."""
    alphabet = random.choice(ALPHABETS)
    return bytes(random.choices(alphabet, k=random.choice((0, 1, 2, 3, 8, 40, 200, 1000))))


def text(random: Random) -> str:
    """A short word, or one that has broken programs before."""
    if random.random() < 0.3:
        return random.choice(ODD_TEXTS)
    return "".join(random.choices("abcXYZ019_-./:${}'\"\\ é", k=random.randint(0, 8)))


def either(random: Random, valid: bytes, almost: Callable[[Random], str]) -> bytes:
    """Noise, a good input after accidents, or one that is almost right from the beginning."""
    kind = random.random()
    if kind < 0.15:
        return noise(random)
    if kind < 0.6:
        return mutated(random, valid)
    made = almost(random).encode("utf-8", "surrogatepass")
    return mutated(random, made) if kind > 0.9 else made


def mutated(random: Random, valid: bytes) -> bytes:
    """A good input after one to four accidents."""
    content = valid
    for _ in range(random.randint(1, 4)):
        content = random.choice(_ACCIDENTS)(random, content)
    return content[: 1 << 18]


def _at(random: Random, content: bytes) -> int:
    return random.randint(0, len(content))


def _flip(random: Random, content: bytes) -> bytes:
    if not content:
        return b"\x80"
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 4, 16))):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _cut(random: Random, content: bytes) -> bytes:
    return content[: _at(random, content)]


def _lose(random: Random, content: bytes) -> bytes:
    first, last = sorted((_at(random, content), _at(random, content)))
    return content[:first] + content[min(last, first + random.choice((1, 8, 64))) :]


def _double(random: Random, content: bytes) -> bytes:
    first, last = sorted((_at(random, content), _at(random, content)))
    piece = content[first:last][:2000]
    return content[:last] + piece * random.choice((1, 1, 2, 20)) + content[last:]


def _insert(random: Random, content: bytes) -> bytes:
    place = _at(random, content)
    return content[:place] + random.choice(ODD_BYTES) + content[place:]


def _double_line(random: Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    line = random.choice(lines)
    lines.insert(random.randint(0, len(lines)), line)
    return b"\n".join(lines)


def _mix_lines(random: Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    random.shuffle(lines)
    return b"\n".join(lines)


def _windows(_random: Random, content: bytes) -> bytes:
    return content.replace(b"\n", b"\r\n")


def _mark(_random: Random, content: bytes) -> bytes:
    return b"\xef\xbb\xbf" + content


def _number(random: Random, content: bytes) -> bytes:
    """Another number in place of one that is there."""
    places = [place for place, byte in enumerate(content) if 48 <= byte <= 57]
    if not places:
        return content
    place = random.choice(places)
    return content[:place] + random.choice(ODD_NUMBERS).encode() + content[place + 1 :]


def _value(random: Random, content: bytes) -> bytes:
    """Something else behind a `=` or a `:`."""
    places = [place for place, byte in enumerate(content) if byte in b"=:"]
    if not places:
        return content
    place = random.choice(places) + 1
    end = content.find(b"\n", place)
    end = len(content) if end < 0 else end
    odd = random.choice((*ODD_NUMBERS, *map(json.dumps, ODD_TEXTS), "[]", "{}", "{a=1}", "[[1]]", "true", "~"))
    return content[:place] + b" " + odd.encode() + content[end:]


_ACCIDENTS: Sequence[Callable[[Random, bytes], bytes]] = (
    _flip,
    _flip,
    _cut,
    _lose,
    _double,
    _insert,
    _double_line,
    _mix_lines,
    _windows,
    _mark,
    _number,
    _number,
    _value,
    _value,
)


def json_like(random: Random, keys: Sequence[str], depth: int = 4) -> str:
    """A JSON value of these keys and of odd ones: duplicate keys, NaN, half surrogates, deep nesting among it."""
    kind = random.random()
    if depth == 0 or kind < 0.25:
        return json.dumps(text(random)) if random.random() < 0.6 else random.choice(ODD_NUMBERS)
    if kind < 0.3:
        return random.choice(("true", "false", "null", "", "nul", "{", "]"))
    if kind < 0.33:
        inner = json_like(random, keys, 0)
        deep = random.choice((30, 400, 990, 3000, 60_000))
        return "[" * deep + inner + "]" * deep if random.random() < 0.5 else '{"a":' * deep + inner + "}" * deep
    if kind < 0.55:
        return "[" + ",".join(json_like(random, keys, depth - 1) for _ in range(random.randint(0, 4))) + "]"
    rows = []
    for _ in range(random.randint(0, 5)):
        key = random.choice(keys) if random.random() < 0.85 else text(random)
        rows.append(f"{json.dumps(key)}:{json_like(random, keys, depth - 1)}")
    return "{" + ",".join(rows) + "}"
