"""The top of a ranking, with ties handled as in sport."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.framework import RECORDS, Answer, Posed, Roles, Row, View, row_digest
from agents.embedded.library.wording import number

if TYPE_CHECKING:
    import random


class TopKTies:
    """κ: competition ranking (1, 2, 2, 4), everybody at the last rank included."""

    name: ClassVar[str] = "top-k-ties"
    rarity: ClassVar[int] = 1
    needs: ClassVar[Mapping[str, Roles]] = {RECORDS: frozenset({"entity", "quantity"})}

    def pose(self, rng: random.Random, view: View) -> Posed:
        """How many ranks."""
        table, words = view.table(), view.words
        entity, quantity = table.column("entity"), table.column("quantity")
        most = rng.choice((3, 4, 5, 6))
        header = f"rank,{entity.name},count,total_{quantity.name}"
        request = (
            f"Rank every {entity.words} by its number of {words.records}, most first. Equal numbers share a rank and "
            f"the ranks after them are skipped (1, 2, 2, 4). Write all whose rank is {most} or better to `{{out}}`, a "
            f"CSV with the header `{header}`: `count` is the number of {words.records}, `total_{quantity.name}` the "
            f"sum of their {quantity.words}. Within a rank the greater sum comes first, and at equal sums the "
            f"{entity.words} in ascending order."
        )
        solution = f"""
{{ echo '{header}'
  awk -F'\\t' '{{ n[${table.at("entity")}]++; s[${table.at("entity")}] += ${table.at("quantity")} }}
    END {{ for (e in n) print n[e] "\\t" s[e] "\\t" e }}' "$W/records.tsv" |
    sort -t "$(printf '\\t')" -k1,1nr -k2,2nr -k3,3 |
    awk -F'\\t' '$1 != last {{ rank = NR; last = $1 }} rank > {most} {{ exit }} {{ print rank "," $3 "," $1 "," $2 }}'
}} > "$OUT"
"""
        units = {
            "header": f'same(load_table(out)[0], "{header}".split(","), "the header")',
            "ranks": 'same([row[0] for row in load_table(out)[1]], want.ranks, "the column rank")',
            "ranked": 'same_rows([row[1] for row in load_table(out)[1]], want.ranked, "who is ranked, in order")',
            "figures": 'same([row[2:] for row in load_table(out)[1]], want.figures, "counts and sums")',
            "bytes": 'same_rows(load_lines(out), want.lines, "the lines of " + out)',
        }
        return Posed(
            file=f"top-{entity.name.replace('_', '-')}.csv",
            request=request,
            solution=solution,
            answers={lot: _answer(rows, most, header) for lot, rows in table.rows.items()},
            units=units,
            figure=f"sum of the column `total_{quantity.name}` in {{out}}",
            command="awk -F, 'NR > 1 { s += $4 } END { if (NR) printf \"%.0f\\n\", s }' {out}",
        )


def _answer(rows: tuple[Row, ...], most: int, header: str) -> Answer:
    counts: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for row in rows:
        counts[str(row["entity"])] += 1
        totals[str(row["entity"])] += number(row["quantity"])
    order = sorted(counts, key=lambda name: (-counts[name], -totals[name], name))
    ranked = [(1 + sum(other > counts[name] for other in counts.values()), name) for name in order]
    kept = [(rank, name) for rank, name in ranked if rank <= most]
    lines = [header, *(f"{rank},{name},{counts[name]},{totals[name]}" for rank, name in kept)]
    expected = {
        "ranks": [str(rank) for rank, _ in kept],
        "ranked": [row_digest(name) for _, name in kept],
        "figures": [[str(counts[name]), str(totals[name])] for _, name in kept],
        "lines": [row_digest(line) for line in lines],
    }
    return Answer(expected, str(sum(totals[name] for _, name in kept)), "".join(f"{line}\n" for line in lines))
