"""A conversion into a strict line format with padding, a trailer and a check number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.framework import RECORDS, Answer, Posed, Roles, Row, View, row_digest
from agents.embedded.library.wording import number

if TYPE_CHECKING:
    import random


class FixedFormatExport:
    """κ: records written the way an old interface wants them."""

    name: ClassVar[str] = "fixed-format-export"
    rarity: ClassVar[int] = 2
    needs: ClassVar[Mapping[str, Roles]] = {RECORDS: frozenset({"key", "category", "quantity"})}

    def pose(self, rng: random.Random, view: View) -> Posed:
        """Separator, width, modulus and the direction of the order."""
        table, words = view.table(), view.words
        key, category, quantity = (table.column(role) for role in ("key", "category", "quantity"))
        mark, width, modulus, falling = (
            rng.choice("|;~"),
            rng.choice((8, 9, 10)),
            rng.choice((97, 89, 83)),
            rng.random() < 0.5,
        )
        way = "descending" if falling else "ascending"
        request = (
            f"The accounting system takes its {words.records} only in an old line format, so convert them into "
            f"`{{out}}`. Each becomes a line of four fields with `{mark}` between them: `D`, its {category.words} in "
            f"upper case with every character other than A–Z and 0–9 turned into `_`, its {quantity.words} padded "
            f"with zeros to {width} digits, and its {key.words} as it is. Lines go by the second field ascending, "
            f"then by {quantity.words} {way}, then by {key.words} ascending. A trailer ends the file: `T`, the number "
            f"of `D` lines padded to 6 digits, the sum of the {quantity.words} padded to 12, and that sum modulo "
            f"{modulus} as two digits. Whatever has a {quantity.words} of 0 is not exported."
        )
        order = "-k3,3nr" if falling else "-k3,3n"
        solution = f"""
awk -F'\\t' '${table.at("quantity")} > 0 {{
    kind = toupper(${table.at("category")}); gsub(/[^A-Z0-9]/, "_", kind)
    printf "D{mark}%s{mark}%0{width}d{mark}%s\\n", kind, ${table.at("quantity")}, ${table.at("key")} }}' "$W/records.tsv" |
  sort -t '{mark}' -k2,2 {order} -k4,4 > "$W/lines"
awk -F'[{mark}]' '{{ print; n++; s += $3 }} END {{ printf "T{mark}%06d{mark}%012d{mark}%02d\\n", n, s, s % {modulus} }}' "$W/lines" > "$OUT"
"""
        units = {
            "lines": f'lines = load_lines(out)\nsame(len(lines), want.count + 1, "the number of lines")\n'
            f'same(all(len(line.split("{mark}")) == 4 for line in lines), True, "all lines of four fields")',
            "trailer": 'same(load_lines(out)[-1], want.trailer, "the trailer")',
            "fields": 'same_rows(sorted(load_lines(out)[:-1]), want.in_any_order, "the D lines, sorted")',
            "order": 'same_rows(load_lines(out)[:-1], want.in_order, "the D lines")',
        }
        return Posed(
            file=f"{words.records.replace(' ', '-')}-export.txt",
            request=request,
            solution=solution,
            answers={lot: _answer(rows, mark, width, modulus, falling) for lot, rows in table.rows.items()},
            units=units,
            figure="sum in the trailer of {out} (without leading zeros)",
            command=f"awk -F'[{mark}]' '$1 == \"T\" {{ printf \"%.0f\\n\", $3 + 0 }}' {{out}}",
        )


def _answer(rows: tuple[Row, ...], mark: str, width: int, modulus: int, falling: bool) -> Answer:
    kept: list[tuple[str, int, str]] = []
    for row in rows:
        kind = "".join(c if c.isascii() and c.isalnum() else "_" for c in str(row["category"]).upper())
        kept.append((kind, number(row["quantity"]), str(row["key"])))
    kept = [entry for entry in kept if entry[1]]
    kept.sort(key=lambda entry: (entry[0], -entry[1] if falling else entry[1], entry[2]))
    lines = [f"D{mark}{kind}{mark}{size:0{width}d}{mark}{key}" for kind, size, key in kept]
    total = sum(size for _, size, _ in kept)
    trailer = f"T{mark}{len(lines):06d}{mark}{total:012d}{mark}{total % modulus:02d}"
    expected = {
        "count": len(lines),
        "trailer": trailer,
        "in_any_order": [row_digest(line) for line in sorted(lines)],
        "in_order": [row_digest(line) for line in lines],
    }
    return Answer(expected, str(total), "".join(f"{line}\n" for line in [*lines, trailer]))
