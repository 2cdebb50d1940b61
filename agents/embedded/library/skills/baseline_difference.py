"""What is there against what should be there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.framework import BASELINE, RECORDS, Answer, Posed, Roles, Row, View, row_digest
from agents.embedded.library.wording import number

if TYPE_CHECKING:
    import random


class BaselineDifference:
    """κ: set differences both ways, and the weight of what is unexpected."""

    name: ClassVar[str] = "baseline-difference"
    rarity: ClassVar[int] = 2
    needs: ClassVar[Mapping[str, Roles]] = {
        RECORDS: frozenset({"key", "entity", "quantity"}),
        BASELINE: frozenset({"key"}),
    }

    def pose(self, rng: random.Random, view: View) -> Posed:
        """How the request opens."""
        table, baseline, words = view.table(), view.table(BASELINE), view.words
        subject, quantity = table.column(baseline.join), table.column("quantity")
        total = f"unexpected_{quantity.name}"
        counted = f"unexpected_{words.records.replace(' ', '_')}"
        opening = rng.choice((
            f"Compare the {words.records} with that list.",
            f"Find every {subject.words} that should not be there, and every one that is missed.",
            "The list is the baseline: what has come, and what has gone?",
        ))  # fmt: skip
        request = (
            f"{opening} Write `{{out}}` with `known` (how many are both listed and in the {words.records}; each "
            f"{subject.words} counts once), `unexpected` (ascending list of each {subject.words} that is in the "
            f"{words.records} but not listed), `absent` (ascending list of those listed that are in none of the "
            f"{words.records}), `{counted}` (the number of {words.records} of the unexpected), `{total}` (the sum of "
            f"their {quantity.words}) and `overlap_permille` (1000 × known / number of different names in either, "
            "rounded down)."
        )
        solution = f"""
cut -f{table.at(baseline.join)} "$W/records.tsv" | sort -u > "$W/here"
comm -23 "$W/here" "$W/baseline.tsv" > "$W/unexpected"
comm -13 "$W/here" "$W/baseline.tsv" > "$W/absent"
known=$(comm -12 "$W/here" "$W/baseline.tsv" | wc -l)
either=$(sort -u "$W/here" "$W/baseline.tsv" | wc -l)
quoted() {{ sed 's/.*/"&"/' "$1" | paste -s -d, -; }}
awk -F'\\t' 'FILENAME ~ /unexpected$/ {{ odd[$1 ""]; next }} (${table.at(baseline.join)} "") in odd {{ n++; s += ${table.at("quantity")} }}
  END {{ printf "\\"{counted}\\": %d, \\"{total}\\": %.0f", n, s }}' "$W/unexpected" "$W/records.tsv" > "$W/weight"
printf '{{"known": %d, "unexpected": [%s], "absent": [%s], %s, "overlap_permille": %d}}\\n' \\
  "$known" "$(quoted "$W/unexpected")" "$(quoted "$W/absent")" "$(cat "$W/weight")" "$((1000 * known / either))" > "$OUT"
"""
        units = {
            "shape": f'has_keys(load_json(out), ["known", "unexpected", "absent", "{counted}", "{total}", "overlap_permille"], out)',
            "unexpected": 'same_rows(load_json(out)["unexpected"], want.unexpected, "unexpected")',
            "absent": 'same_rows(load_json(out)["absent"], want.absent, "absent")',
            "weight": f'result = load_json(out)\nsame(result["{counted}"], want.count, "{counted}")\n'
            f'same(result["{total}"], want.total, "{total}")',
            "overlap": 'result = load_json(out)\nsame(result["known"], want.known, "known")\n'
            'same(result["overlap_permille"], want.overlap, "overlap_permille")',
        }
        answers = {lot: _answer(rows, baseline.rows[lot], baseline.join) for lot, rows in table.rows.items()}
        return Posed(
            file="baseline-difference.json",
            request=request,
            solution=solution,
            answers=answers,
            units=units,
            figure=f"figure `{total}` in {{out}}",
            command=f'python3 -c \'import json; print(json.load(open("{{out}}"))["{total}"])\'',
            tables=(RECORDS, BASELINE),
        )


def _answer(rows: tuple[Row, ...], baseline: tuple[Row, ...], join: str) -> Answer:
    here, listed = {str(row[join]) for row in rows}, {str(row["key"]) for row in baseline}
    odd = [row for row in rows if str(row[join]) not in listed]
    total = sum(number(row["quantity"]) for row in odd)
    expected = {
        "known": len(here & listed),
        "unexpected": [row_digest(name) for name in sorted(here - listed)],
        "absent": [row_digest(name) for name in sorted(listed - here)],
        "count": len(odd),
        "total": total,
        "overlap": 1000 * len(here & listed) // len(here | listed),
    }
    return Answer(expected, str(total))
