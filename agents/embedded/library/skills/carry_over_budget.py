"""A budget by period with carry-over: what fits, what is refused, what is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.framework import RECORDS, Answer, Posed, Roles, Row, View, row_digest
from agents.embedded.library.wording import iso, number, round_sensibly

if TYPE_CHECKING:
    import random

_PERIODS = ((86_400, "UTC day"), (21_600, "quarter of a UTC day (from 00:00, 06:00, 12:00 and 18:00)"), (3_600, "full UTC hour"),
            (900, "quarter of an hour (from minute 00, 15, 30 and 45)"))  # fmt: skip
_FEWEST, _MOST = 5, 90


@dataclass(frozen=True)
class _Budget:
    seconds: int
    grant: int
    cap: int


class CarryOverBudget:
    """κ: a running balance that is topped up every period and capped."""

    name: ClassVar[str] = "carry-over-budget"
    rarity: ClassVar[int] = 4
    needs: ClassVar[Mapping[str, Roles]] = {RECORDS: frozenset({"key", "time", "quantity", "spending"})}

    def pose(self, rng: random.Random, view: View) -> Posed:
        """The period, what it grants and how much can be saved up."""
        table, words = view.table(), view.words
        key, quantity = table.column("key"), table.column("quantity")
        seconds, period = _period(table.rows)
        periods = sum(
            max(map(_time, rows)) // seconds - min(map(_time, rows)) // seconds + 1 for rows in table.rows.values()
        )
        total = sum(number(value) for value in table.pooled("quantity"))
        # A grant below the mean need and a cap above it: some periods save, some refuse.
        grant = max(1, round_sensibly(int(total / periods * rng.uniform(0.45, 0.8))))
        cap = round_sensibly(int(grant * rng.uniform(2.2, 4.5)))
        budget = _Budget(seconds, grant, cap)
        header = "period,count,spent,refused,left"
        request = (
            f"Play through what a budget would have meant: every {period} grants {grant} {quantity.unit}. What is not "
            "spent is carried over, but when a period begins, the balance (what is left plus the grant) is cut to "
            f"{cap} if it is more; the first period starts from the grant alone. Take the {words.records} by "
            f"ascending time, at the same second by ascending {key.words}: one whose {quantity.words} is not more "
            f"than the balance is spent from it, any other is refused and costs nothing. Write `{{out}}`, a CSV with "
            f"the header `{header}`, one row for every period from that of the first to that of the last of its "
            f"{words.records}, those without any included: `period` is its beginning (`2024-02-29T23:00:00Z`), "
            f"`count` its number of {words.records}, `spent` and `refused` are sums of their {quantity.words}, `left` "
            "is the balance at its end."
        )
        solution = f"""
T="$(printf '\\t')"
sort -t "$T" -k{table.at("time")},{table.at("time")}n -k{table.at("key")},{table.at("key")} "$W/records.tsv" |
  awk -F'\\t' '
    function close_period() {{ print p * {seconds} "," n + 0 "," spent + 0 "," refused + 0 "," left; n = spent = refused = 0 }}
    {{ now = int(${table.at("time")} / {seconds}) }}
    NR == 1 {{ p = now; left = {min(grant, cap)} }}
    p < now {{ while (p < now) {{ close_period(); p++; left += {grant}; if (left > {cap}) left = {cap} }} }}
    {{ n++; if (${table.at("quantity")} <= left) {{ left -= ${table.at("quantity")}; spent += ${table.at("quantity")} }} else refused += ${table.at("quantity")} }}
    END {{ if (NR) close_period() }}' > "$W/periods"
{{ echo '{header}'
  paste -d, <(cut -d, -f1 "$W/periods" | sed 's/^/@/' | date -u -f - +%Y-%m-%dT%H:%M:%SZ) <(cut -d, -f2- "$W/periods")
}} > "$OUT"
"""
        return Posed(
            file="budget.csv",
            request=request,
            solution=solution,
            answers={lot: _answer(rows, budget, header) for lot, rows in table.rows.items()},
            units=_units(header),
            figure="sum of the column `refused` in {out}",
            command="awk -F, 'NR > 1 { s += $4 } END { if (NR) printf \"%.0f\\n\", s }' {out}",
        )


def _units(header: str) -> dict[str, str]:
    return {
        "header": f'header, rows = load_table(out)\nsame(header, "{header}".split(","), "the header")\n'
        'same(len(rows), want.periods, "the number of periods")',
        "periods": 'same_rows([row[:2] for row in load_table(out)[1]], want.counts, "the periods with their counts")',
        "spent": 'rows = load_table(out)[1]\nsame(sum(int(row[2]) for row in rows), want.spent, "the sum of spent")\n'
        'same(sum(int(row[3]) for row in rows), want.refused, "the sum of refused")',
        "left": 'same_rows([row[4] for row in load_table(out)[1]], want.left, "the column left")',
        "bytes": 'same_rows(load_lines(out), want.lines, "the lines of " + out)',
    }


def _time(row: Row) -> int:
    return number(row["time"])


def _period(lots: Mapping[str, tuple[Row, ...]]) -> tuple[int, str]:
    """The longest period of which every lot has a handful."""
    spans = [max(map(_time, rows)) - min(map(_time, rows)) for rows in lots.values()]
    for seconds, name in _PERIODS:
        if min(spans) // seconds >= _FEWEST:
            return seconds, name
    return _PERIODS[-1]


def _answer(rows: tuple[Row, ...], budget: _Budget, header: str) -> Answer:
    ordered = sorted(rows, key=lambda row: (_time(row), str(row["key"])))
    first, last = _time(ordered[0]) // budget.seconds, _time(ordered[-1]) // budget.seconds
    left, table = 0, []
    for period in range(first, last + 1):
        left = min(budget.cap, left + budget.grant)
        wanted = [number(row["quantity"]) for row in ordered if _time(row) // budget.seconds == period]
        before, refused = left, 0
        for amount in wanted:
            if amount <= left:
                left -= amount
            else:
                refused += amount
        table.append([iso(period * budget.seconds), str(len(wanted)), str(before - left), str(refused), str(left)])
    lines = [header, *(",".join(row) for row in table)]
    refused = sum(int(row[3]) for row in table)
    expected = {
        "periods": len(table),
        "counts": [row_digest(row[:2]) for row in table],
        "spent": sum(int(row[2]) for row in table),
        "refused": refused,
        "left": [row_digest(row[4]) for row in table],
        "lines": [row_digest(line) for line in lines],
    }
    return Answer(expected, str(refused), "".join(f"{line}\n" for line in lines))
