"""A whole number of units shared out in proportion, by largest remainders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.framework import RECORDS, Answer, Posed, Roles, Row, View, row_digest
from agents.embedded.library.wording import number

if TYPE_CHECKING:
    import random


class FairApportionment:
    """κ: Hamilton's method in whole numbers."""

    name: ClassVar[str] = "fair-apportionment"
    rarity: ClassVar[int] = 5
    needs: ClassVar[Mapping[str, Roles]] = {RECORDS: frozenset({"entity", "quantity"})}

    def pose(self, rng: random.Random, view: View) -> Posed:
        """How many units there are."""
        table, words = view.table(), view.words
        entity, quantity = table.column("entity"), table.column("quantity")
        units_in_all = rng.choice((37, 50, 64, 80, 100, 120))
        things = rng.choice(("budget points", "licences", "support hours", "credits"))
        header = f"{entity.name},total_{quantity.name},quota,share"
        request = (
            f"{units_in_all} {things} are to be shared out over every {entity.words} in proportion to the sum of the "
            f"{quantity.words} of its {words.records}, in whole numbers by the method of largest remainders: with S "
            f"the sum over all, each first gets ⌊total × {units_in_all} / S⌋, and what is left goes one each to those "
            f"with the largest remainders of that division (total × {units_in_all} modulo S; among equals ascending "
            f"by {entity.words}). Calculate in integers. Write `{{out}}`, a CSV with the header `{header}` (`quota` "
            "is the first, rounded-down part, `share` the final number), rows by `share` descending and then by "
            f"{entity.words} ascending."
        )
        solution = f"""
python3 - "$W/records.tsv" "$OUT" <<'PY'
import collections, sys
totals = collections.Counter()
for line in open(sys.argv[1], encoding="utf-8"):
    row = line.rstrip("\\n").split("\\t")
    totals[row[{table.at("entity") - 1}]] += int(row[{table.at("quantity") - 1}])
whole = sum(totals.values())
quota = {{name: total * {units_in_all} // whole for name, total in totals.items()}}
share = dict(quota)
rest = sorted(totals, key=lambda name: (-(totals[name] * {units_in_all} % whole), name))
for name in rest[: {units_in_all} - sum(quota.values())]:
    share[name] += 1
with open(sys.argv[2], "w", encoding="utf-8", newline="\\n") as out:
    print("{header}", file=out)
    for name in sorted(totals, key=lambda name: (-share[name], name)):
        print(name, totals[name], quota[name], share[name], sep=",", file=out)
PY
"""
        units = {
            "header": f'header, rows = load_table(out)\nsame(header, "{header}".split(","), "the header")\n'
            'same(len(rows), want.count, "the number of rows")',
            "totals": 'same_rows(sorted([row[0], int(row[1])] for row in load_table(out)[1]), want.totals, "the totals")',
            "quotas": 'same_rows(sorted([row[0], int(row[2])] for row in load_table(out)[1]), want.quotas, "the column quota")',
            "shares": f'rows = load_table(out)[1]\nsame(sum(int(row[3]) for row in rows), {units_in_all}, "the sum of share")\n'
            'same_rows(sorted([row[0], int(row[3])] for row in rows), want.shares, "the column share")',
            "bytes": 'same_rows(load_lines(out), want.lines, "the lines of " + out)',
        }
        return Posed(
            file="shares.csv",
            request=request,
            solution=solution,
            answers={lot: _answer(rows, units_in_all, header) for lot, rows in table.rows.items()},
            units=units,
            figure=f"sum over all rows of {{out}} of `total_{quantity.name}` × `share`",
            command="awk -F, 'NR > 1 { s += $2 * $4 } END { if (NR) printf \"%.0f\\n\", s }' {out}",
        )


def _answer(rows: tuple[Row, ...], units: int, header: str) -> Answer:
    totals: Counter[str] = Counter()
    for row in rows:
        totals[str(row["entity"])] += number(row["quantity"])
    whole = sum(totals.values())
    quota = {name: total * units // whole for name, total in totals.items()}
    by_remainder = sorted(totals, key=lambda name: (-(totals[name] * units % whole), name))
    favoured = set(by_remainder[: units - sum(quota.values())])
    share = {name: quota[name] + (name in favoured) for name in totals}
    order = sorted(totals, key=lambda name: (-share[name], name))
    lines = [header, *(f"{name},{totals[name]},{quota[name]},{share[name]}" for name in order)]
    expected = {
        "count": len(totals),
        "totals": [row_digest([name, totals[name]]) for name in sorted(totals)],
        "quotas": [row_digest([name, quota[name]]) for name in sorted(totals)],
        "shares": [row_digest([name, share[name]]) for name in sorted(totals)],
        "lines": [row_digest(line) for line in lines],
    }
    return Answer(
        expected, str(sum(totals[name] * share[name] for name in totals)), "".join(f"{line}\n" for line in lines)
    )
