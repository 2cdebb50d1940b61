"""The busiest stretches of time, found with a sliding window, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.framework import RECORDS, Answer, Posed, Roles, Row, View, row_digest
from agents.embedded.library.wording import iso, number

if TYPE_CHECKING:
    import random

_LENGTHS = (60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400, 172_800)


class BusiestWindows:
    """κ: greedy choice of windows that do not share a record."""

    name: ClassVar[str] = "busiest-windows"
    rarity: ClassVar[int] = 4
    needs: ClassVar[Mapping[str, Roles]] = {RECORDS: frozenset({"time", "quantity"})}

    def pose(self, rng: random.Random, view: View) -> Posed:
        """The length of a window, about a fifteenth of what there is, and how many windows."""
        table, words = view.table(), view.words
        quantity = table.column("quantity")
        spans = [max(map(_time, rows)) - min(map(_time, rows)) for rows in table.rows.values()]
        length = max(
            (seconds for seconds in _LENGTHS if seconds <= min(spans) // rng.randint(12, 18)), default=_LENGTHS[0]
        )
        wanted = rng.choice((3, 3, 4))
        header = f"rank,from,count,total_{quantity.name}"
        request = (
            f"When was it busiest? A window begins at the time of one of the {words.records} and holds all whose time "
            f"is in the {length} seconds from there (the beginning included, the end not). Take the window in which "
            f"the sum of their {quantity.words} is greatest, at equal sums the earliest; strike out the "
            f"{words.records} in it and look for the next among those that are left, {wanted} times in all. Write "
            f"`{{out}}`, a CSV with the header `{header}` and a row for each window in the order in which they were "
            "found: `rank` counts from 1, `from` is its beginning in UTC (`2024-02-29T23:59:59Z`), `count` the "
            f"number of {words.records} in it and `total_{quantity.name}` the sum."
        )
        solution = f"""
python3 - "$W/records.tsv" "$OUT" <<'PY'
import sys, time
rows = [line.rstrip("\\n").split("\\t") for line in open(sys.argv[1], encoding="utf-8")]
left = sorted((int(row[{table.at("time") - 1}]), int(row[{table.at("quantity") - 1}])) for row in rows)
with open(sys.argv[2], "w") as out:
    print("{header}", file=out)
    for rank in range(1, {wanted + 1}):
        best = None
        for start in dict.fromkeys(moment for moment, _ in left):
            inside = [size for moment, size in left if start <= moment < start + {length}]
            if best is None or sum(inside) > best[1]:
                best = (start, sum(inside), len(inside))
        start, total, count = best
        print(rank, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start)), count, total, sep=",", file=out)
        left = [event for event in left if not start <= event[0] < start + {length}]
PY
"""
        units = {
            "header": f'header, rows = load_table(out)\nsame(header, "{header}".split(","), "the header")\n'
            f'same([row[0] for row in rows], {[str(rank) for rank in range(1, wanted + 1)]!r}, "the column rank")',
            "busiest": 'same_rows(load_table(out)[1][:1], want.busiest, "the first window")',
            "beginnings": 'same_rows([row[1] for row in load_table(out)[1]], want.beginnings, "the column from")',
            "figures": 'same([row[2:] for row in load_table(out)[1]], want.figures, "counts and sums")',
        }
        return Posed(
            file="busiest-windows.csv",
            request=request,
            solution=solution,
            answers={lot: _answer(rows, length, wanted, header) for lot, rows in table.rows.items()},
            units=units,
            figure=f"sum of the column `total_{quantity.name}` in {{out}}",
            command="awk -F, 'NR > 1 { s += $4 } END { if (NR) printf \"%.0f\\n\", s }' {out}",
        )


def _time(row: Row) -> int:
    return number(row["time"])


def _answer(rows: tuple[Row, ...], length: int, wanted: int, header: str) -> Answer:
    left = sorted((_time(row), number(row["quantity"])) for row in rows)
    table: list[list[str]] = []
    for rank in range(1, wanted + 1):
        sums: dict[int, int] = {start: 0 for start, _ in left}
        for start in sums:
            sums[start] = sum(size for moment, size in left if 0 <= moment - start < length)
        start = min(sums, key=lambda moment: (-sums[moment], moment))
        count = sum(0 <= moment - start < length for moment, _ in left)
        table.append([str(rank), iso(start), str(count), str(sums[start])])
        left = [event for event in left if not 0 <= event[0] - start < length]
    lines = [header, *(",".join(row) for row in table)]
    expected = {
        "busiest": [row_digest(table[0])],
        "beginnings": [row_digest(row[1]) for row in table],
        "figures": [row[2:] for row in table],
    }
    return Answer(expected, str(sum(int(row[3]) for row in table)), "".join(f"{line}\n" for line in lines))
