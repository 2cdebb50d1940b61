"""Links: how the result of one step decides which lot the next step works on.

A link is a small routing file in the later step's data folder. It is built around the right checkpoint so that it leads
to the step's own lot, which therefore never depends on the steps before; another value leads to another lot, and no
value leads nowhere.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.embedded.library.wording import code

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from agents.embedded.library.framework import Checkpoint, Words

_PRIMES = (11, 13, 17, 19, 23)


@dataclass(frozen=True)
class Destination:
    """Where a link must lead.

    Attributes:
        lots: All lot codes of the step.
        target: The one it works on.
        root: The step's data folder.
        words: The scenario's words.
    """

    lots: tuple[str, ...]
    target: str
    root: str
    words: Words


@dataclass(frozen=True)
class Link:
    """A rendered link.

    Attributes:
        file: Name of the routing file in the step's data folder.
        content: Its bytes.
        sentence: How the instruction says it.
        solution: Bash lines that set `LOT`.
    """

    file: str
    content: bytes
    sentence: str
    solution: str


def link(rng: random.Random, before: Checkpoint, to: Destination) -> Link:
    """The link from a checkpoint to a step's lot.

    Args:
        rng: Decides the kind and the table.
        before: The earlier step's checkpoint with its right value.
        to: Where it must lead.
    """
    kinds: list[Callable[[random.Random, Checkpoint, Destination], Link]] = [_digest]
    if before.value.isdecimal():
        kinds += [_remainder, _bands, _roster]
    if before.sha256:
        kinds.append(_file_digest)
    order = [_remainder, _bands, _roster, _file_digest, _digest]
    wish = rng.sample(order, len(order))
    return next(kind for kind in wish if kind in kinds)(rng, before, to)


def _spread(rng: random.Random, to: Destination, count: int, place: int) -> list[str]:
    """A lot for each of `count` places, all lots about equally often, the target at `place`."""
    lots = [to.lots[i % len(to.lots)] for i in range(count)]
    rng.shuffle(lots)
    other = lots.index(to.target)
    lots[other], lots[place] = lots[place], lots[other]
    return lots


def _figure(before: Checkpoint) -> str:
    return f"V=$({before.command} 2>/dev/null)"


def _remainder(rng: random.Random, before: Checkpoint, to: Destination) -> Link:
    modulus = rng.choice([prime for prime in _PRIMES if prime >= len(to.lots)])
    lots = _spread(rng, to, modulus, int(before.value) % modulus)
    rows = "".join(f"{i}\t{lot}\n" for i, lot in enumerate(lots))
    return Link(
        "rota.tsv",
        f"# remainder\t{to.words.lot}\n{rows}".encode(),
        f"Take the {before.description} and divide it by {modulus}: the remainder names the {to.words.lot} in "
        f"{code(to.root + '/rota.tsv')} (remainder, tab, {to.words.lot}).",
        f"{_figure(before)}\nLOT=$(awk -F'\\t' -v v=\"$V\" 'v != \"\" && $1 == v % {modulus} {{ print $2 }}' "
        '"$S/rota.tsv")',
    )


def _bands(rng: random.Random, before: Checkpoint, to: Destination) -> Link:
    value = int(before.value)
    top = max(40, value * 4)
    cuts = sorted(rng.sample(range(1, top), rng.randint(14, 20)))
    starts = [0, *cuts]
    place = max(i for i, start in enumerate(starts) if start <= value)
    lots = _spread(rng, to, len(starts), place)
    ends = [str(cut - 1) for cut in cuts] + [""]
    rows = "".join(f"{start},{end},{lot}\n" for start, end, lot in zip(starts, ends, lots, strict=True))
    return Link(
        "bands.csv",
        f"from,to,assigned\n{rows}".encode(),
        f"The {before.description} falls into exactly one band of {code(to.root + '/bands.csv')} (both ends belong to "
        f"a band, an empty end is open); the band's last column is the {to.words.lot} to take.",
        f'{_figure(before)}\nLOT=$(awk -F, -v v="$V" '
        '\'NR > 1 && v != "" && v + 0 >= $1 + 0 && ($2 == "" || v + 0 <= $2 + 0) { print $3 }\' "$S/bands.csv")',
    )


def _roster(rng: random.Random, before: Checkpoint, to: Destination) -> Link:
    count = len(to.lots) * 2 + rng.randint(1, 4)
    lots = _spread(rng, to, count, int(before.value) % count)
    lines = [f"# {to.words.lots} in the order of the roster"]
    for i, lot in enumerate(lots):
        lines.append(lot)
        if i and rng.random() < 0.15:  # noqa: PLR2004 - a blank line now and then
            lines.append("")
    return Link(
        "roster.txt",
        ("\n".join(lines) + "\n").encode(),
        f"Which {to.words.lot}? {code(to.root + '/roster.txt')} lists {count} turns, one a line (blank lines and "
        "lines that begin with `#` are no turns). Count them from 0 and take the turn whose number is the "
        f"{before.description} modulo {count}.",
        f"{_figure(before)}\nLOT=$(grep -v -e '^#' -e '^$' \"$S/roster.txt\" | "
        f'awk -v v="$V" \'v != "" && NR - 1 == v % {count}\')',
    )


def _pointers(rng: random.Random, to: Destination, digest: str) -> bytes:
    digits = "0123456789abcdef"
    lots = _spread(rng, to, len(digits), digits.index(digest[0]))
    return "".join(f"{digit} {lot}\n" for digit, lot in zip(digits, lots, strict=True)).encode()


def _digest(rng: random.Random, before: Checkpoint, to: Destination) -> Link:
    digest = hashlib.sha256(before.value.encode()).hexdigest()
    table = code(f"{to.root}/pointers.txt")
    written = (
        f"Write down the {before.description} as plain text without a line end and take its SHA-256: the first "
        f"hexadecimal digit leads to the {to.words.lot} through {table}."
    )
    looked_up = (
        f"Look up the {to.words.lot} in {table}: its line begins with the first hexadecimal digit of the SHA-256 of "
        f"the {before.description} (just its characters, no line feed)."
    )
    return Link(
        "pointers.txt",
        _pointers(rng, to, digest),
        rng.choice((written, looked_up)),
        f'{_figure(before)}\nD=$([ -n "$V" ] && printf %s "$V" | sha256sum | cut -c1)\n'
        'LOT=$(awk -v d="$D" \'$1 "" == d { print $2 }\' "$S/pointers.txt")',
    )


def _file_digest(rng: random.Random, before: Checkpoint, to: Destination) -> Link:
    return Link(
        "pointers.txt",
        _pointers(rng, to, before.sha256),
        f"The {to.words.lot} to take stands in {code(to.root + '/pointers.txt')}, next to the first hexadecimal digit "
        f"of the SHA-256 of {code(before.path)}.",
        f"D=$([ -f {before.path} ] && sha256sum < {before.path} | cut -c1)\n"
        'LOT=$(awk -v d="$D" \'$1 "" == d { print $2 }\' "$S/pointers.txt")',
    )
