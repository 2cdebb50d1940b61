"""Nearest-rank percentiles per category, small categories pooled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.framework import RECORDS, Answer, Posed, Roles, Row, View, row_digest
from agents.embedded.library.wording import nearest_rank, number

if TYPE_CHECKING:
    import random


class PercentileReport:
    """κ: a table of percentiles, one row a category."""

    name: ClassVar[str] = "percentile-report"
    rarity: ClassVar[int] = 2
    needs: ClassVar[Mapping[str, Roles]] = {RECORDS: frozenset({"category", "quantity"})}

    def pose(self, rng: random.Random, view: View) -> Posed:
        """Two percentiles, and how few records make a category small."""
        table, words = view.table(), view.words
        category, quantity = table.column("category"), table.column("quantity")
        low, high = rng.choice(((50, 90), (50, 95), (25, 75), (10, 90), (50, 80)))
        few = rng.randint(3, 6)
        header = f"{category.name},count,p{low},p{high},max"
        request = (
            f"Describe the {quantity.words} by {category.words} in `{{out}}`: a CSV with the header `{header}` and a "
            f"row for each {category.words}, ascending. `count` is its number of {words.records}, `p{low}` and "
            f"`p{high}` are percentiles of the {quantity.words} by the nearest-rank rule (the value at place ⌈p/100 · "
            "count⌉ of the ascending list, counted from 1; no interpolation), `max` is the greatest. Every "
            f"{category.words} with fewer than {few} {words.records} goes, together with all others of that kind, "
            "into one row named `other`, which is the last; without any such there is no `other`."
        )
        solution = f"""
C={table.at("category")} Q={table.at("quantity")}
awk -F'\\t' -v c=$C -v q=$Q 'NR == FNR {{ n[$c]++; next }} {{ print (n[$c] < {few} ? "2\\tother" : "1\\t" $c) "\\t" $q }}' \\
  "$W/records.tsv" "$W/records.tsv" | sort -t "$(printf '\\t')" -k1,1 -k2,2 -k3,3n > "$W/sorted"
{{ echo '{header}'
  awk -F'\\t' '
    function rank(p) {{ r = int((p * n + 99) / 100); return v[r < 1 ? 1 : r] }}
    function flush() {{ if (n) print name "," n "," rank({low}) "," rank({high}) "," v[n] }}
    $1 $2 != last {{ flush(); n = 0; last = $1 $2; name = $2 }}
    {{ v[++n] = $3 }}
    END {{ flush() }}' "$W/sorted"
}} > "$OUT"
"""
        units = {
            "header": f'header, rows = load_table(out)\nsame(header, "{header}".split(","), "the header")\n'
            'same(all(len(row) == len(header) for row in rows), True, "all rows as wide as the header")\n'
            'same(len(rows), want.count_of_rows, "the number of rows")',
            "counts": 'rows = load_table(out)[1]\nsame([row[:2] for row in rows], want.counts, "names and counts")',
            f"p{low}": f'same([row[2] for row in load_table(out)[1]], want.low, "the column p{low}")',
            f"p{high}_and_max": f'same([row[3:] for row in load_table(out)[1]], want.high, "the columns p{high} and max")',
            "bytes": 'same_rows(load_lines(out), want.lines, "the lines of " + out)',
        }
        return Posed(
            file=f"{quantity.name.replace('_', '-')}-percentiles.csv",
            request=request,
            solution=solution,
            answers={lot: _answer(rows, few, (low, high), header) for lot, rows in table.rows.items()},
            units=units,
            figure=f"sum of the column `p{high}` in {{out}}",
            command="awk -F, 'NR > 1 { s += $4 } END { if (NR) printf \"%d\\n\", s }' {out}",
        )


def _answer(rows: tuple[Row, ...], few: int, percents: tuple[int, int], header: str) -> Answer:
    values: dict[str, list[int]] = {}
    for row in rows:
        values.setdefault(str(row["category"]), []).append(number(row["quantity"]))
    kept = {name: sorted(found) for name, found in sorted(values.items()) if len(found) >= few}
    small = sorted(value for found in values.values() if len(found) < few for value in found)
    if small:
        kept["other"] = small
    low, high = percents
    lines = [
        [name, str(len(v)), str(nearest_rank(v, low)), str(nearest_rank(v, high)), str(v[-1])]
        for name, v in kept.items()
    ]
    content = "".join(f"{line}\n" for line in [header, *(",".join(line) for line in lines)])
    expected = {
        "count_of_rows": len(lines),
        "counts": [line[:2] for line in lines],
        "low": [line[2] for line in lines],
        "high": [line[3:] for line in lines],
        "lines": [row_digest(line) for line in content.splitlines()],
    }
    return Answer(expected, str(sum(int(line[3]) for line in lines)), content)
