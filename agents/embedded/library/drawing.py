"""Ways to draw data that looks like somebody's: sizes, visits, remarks, checksum lists."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agents.embedded.library.framework import MANIFEST, Column, Row, Table

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping, Sequence

_CODES = ("INV", "RMA", "PO", "TKT", "CHG", "WO")
_HOLE = re.compile(r"\{(\w+)\}")


def epoch(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> int:
    """A UTC date as seconds since the epoch."""
    return int(datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp())


def skewed(rng: random.Random, low: int, high: int) -> int:
    """A number between the two, small ones more often, as sizes are."""
    share: float = (high / low) ** rng.random()
    return round(low * share)


def visits(rng: random.Random, visitors: Sequence[str], start: int, end: int, count: int) -> list[tuple[int, str]]:
    """`count` distinct moments with a visitor each: bursts with pauses of seconds to minutes, in the order of time."""
    moments: dict[int, str] = {}
    waiting = list(visitors)
    while len(moments) < count:
        who, now = waiting.pop() if waiting else rng.choice(visitors), rng.randrange(start, end)
        for _ in range(rng.randint(1, 7)):
            if now < end and now not in moments and len(moments) < count:
                moments[now] = who
            now += rng.choice((rng.randint(4, 90), rng.randint(60, 700), rng.randint(900, 3000)))
    return sorted(moments.items())


def network(rng: random.Random) -> str:
    """A private IPv4 address."""
    return f"10.{rng.randint(1, 60)}.{rng.randint(0, 40)}.{rng.randint(2, 250)}"


def remark(rng: random.Random, template: str, names: Sequence[str], domain: str, addresses: Sequence[str]) -> str:
    """A template with its holes filled: {mail}, {name}, {ip}, {code}, {num}."""

    def fill(hole: re.Match[str]) -> str:
        match hole.group(1):
            case "mail":
                return f"{rng.choice(names)}@{domain}"
            case "name":
                return rng.choice(names)
            case "ip":
                return rng.choice(addresses)
            case "code":
                return f"{rng.choice(_CODES)}-{rng.randint(1000, 1040)}"
            case "num":
                return str(rng.randint(2, 900))
            case other:
                raise ValueError(f"the template {template!r} has an unknown hole {other!r}")

    return _HOLE.sub(fill, template)


def listed(rng: random.Random, present: Iterable[object], strangers: Iterable[str], dropped: int) -> tuple[Row, ...]:
    """A baseline: what is present but for `dropped` of it, and strangers that are not; ascending."""
    names = sorted({str(name) for name in present})
    kept = set(rng.sample(names, max(1, len(names) - dropped)))
    return tuple({"key": name} for name in sorted(kept | ({*strangers} - {*names})))


def measured(rng: random.Random, sums: Mapping[str, int], strangers: Sequence[str]) -> tuple[Row, ...]:
    """A second source for the sums: some left out, some off, some in two parts, some of strangers; in no order."""
    rows: list[Row] = []
    for name, amount in sorted(sums.items()):
        fate = rng.random()
        if fate < 0.1:  # noqa: PLR2004 - left out
            continue
        seen = amount
        if fate < 0.3:  # noqa: PLR2004 - off by a little or by a lot
            seen = max(0, amount + rng.choice((-1, 1)) * rng.randint(1, max(2, amount // rng.choice((5, 20, 100)))))
        part = rng.randint(1, seen - 1) if seen > 1 and rng.random() < 0.25 else 0  # noqa: PLR2004 - in two parts
        rows += [{"key": name, "quantity": size} for size in ((part, seen - part) if part else (seen,))]
    most = max(sums.values(), default=10)
    rows += [{"key": name, "quantity": skewed(rng, 1, max(2, most))} for name in strangers if name not in sums]
    return tuple(rng.sample(rows, len(rows)))


def summed(rows: Iterable[Row], role: str) -> dict[str, int]:
    """The quantity of the rows added up by a role."""
    sums: dict[str, int] = {}
    for row in rows:
        sums[str(row[role])] = sums.get(str(row[role]), 0) + int(row["quantity"])
    return sums


def latest(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Each key's row with the highest revision, the later one where two have it; ascending by key."""
    kept: dict[str, Row] = {}
    for row in rows:
        key = str(row["key"])
        if key not in kept or int(row["revision"]) >= int(kept[key]["revision"]):
            kept[key] = row
    return tuple(row for _, row in sorted(kept.items()))


def entangled(rng: random.Random, rows: Sequence[Row]) -> list[Row]:
    """The rows with one reference more, from something that is referred to back to what refers to it: a circle."""
    keys = {str(row["key"]): place for place, row in enumerate(rows)}
    edges = [(str(row["key"]), ref) for row in rows for ref in str(row["ref"]).split() if ref in keys]
    changed = list(rows)
    if edges:
        source, target = rng.choice(edges)
        row = rows[keys[target]]
        changed[keys[target]] = {**row, "ref": " ".join(sorted({*str(row["ref"]).split(), source}))}
    return changed


def checksum_list(
    rng: random.Random, folder: Mapping[str, bytes], ghosts: Sequence[str]
) -> tuple[bytes, tuple[Row, ...]]:
    """A `SHA256SUMS` of a folder in which some sums are out of date, some files gone and some never listed.

    Args:
        rng: Decides which.
        folder: File name → bytes.
        ghosts: Names that are listed though there is no such file.

    Returns:
        The list's bytes, and the rows (key, listed, actual) in the order of the names; "-" stands for none.
    """
    names = sorted(folder)
    actual = {name: hashlib.sha256(folder[name]).hexdigest() for name in names}
    shuffled = rng.sample(names, len(names))
    stale, unlisted = shuffled[: rng.randint(1, 3)], shuffled[3 : 3 + rng.randint(1, 2)]
    listed = {name: digest for name, digest in actual.items() if name not in unlisted}
    for name in [*stale, *ghosts]:
        listed[name] = hashlib.sha256(rng.randbytes(16)).hexdigest()
    order = rng.sample(sorted(listed), len(listed))
    rows = [
        {"key": name, "listed": listed.get(name, "-"), "actual": actual.get(name, "-")}
        for name in sorted({*listed, *actual})
    ]
    return "".join(f"{listed[name]}  {name}\n" for name in order).encode(), tuple(rows)


def checksum_table(rows: Mapping[str, tuple[Row, ...]], folder: str) -> Table:
    """The MANIFEST table of folders that have a `SHA256SUMS`.

    Args:
        rows: What `checksum_list` gave for each lot.
        folder: The lot's folder below the step's, with `$LOT` in it ("logs/$LOT").
    """
    shown = folder.replace("$LOT", "<code>")
    return Table(
        MANIFEST,
        (
            Column("key", "file", "file"),
            Column("listed", "listed", "listed sum"),
            Column("actual", "actual", "actual sum"),
        ),
        rows,
        f"Next to the files lies `SHA256SUMS` (`{{root}}/{shown}/SHA256SUMS`), in the format that `sha256sum` writes: "
        "the sums of the files as they are on disk, taken when the copy was made. It does not list itself.",
        f"""
( cd "$S/{folder}" && find . -type f ! -name SHA256SUMS -printf '%P\\n' | sort | xargs sha256sum > "$W/actual"
  awk 'NR == FNR {{ a[$2] = $1; n[$2]; next }} {{ l[$2] = $1; n[$2] }}
       END {{ for (f in n) print f "\\t" ((f in l) ? l[f] : "-") "\\t" ((f in a) ? a[f] : "-") }}' \\
    "$W/actual" SHA256SUMS | sort > "$W/manifest.tsv" )
""",
    )
