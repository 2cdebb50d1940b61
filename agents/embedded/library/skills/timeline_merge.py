"""Put events with clocks of all kinds on one UTC time line and look at the silences."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.framework import RECORDS, Answer, Posed, Roles, Row, View, row_digest
from agents.embedded.library.wording import distinct, iso, number

if TYPE_CHECKING:
    import random


class TimelineMerge:
    """κ: one sorted time line with the gap before each event."""

    name: ClassVar[str] = "timeline-merge"
    rarity: ClassVar[int] = 3
    needs: ClassVar[Mapping[str, Roles]] = {RECORDS: frozenset({"key", "category", "time"})}

    def pose(self, rng: random.Random, view: View) -> Posed:
        """Which category is left out."""
        table, words = view.table(), view.words
        key, category = table.column("key"), table.column("category")
        left_out = str(rng.choice(distinct(table.pooled("category"))))
        names = ["time", key.name, category.name, "gap"]
        header, printed = "\t".join(names), "\\t".join(names)
        request = (
            f"Put its {words.records} on one time line, `{{out}}`: tab-separated, the header "
            f"{' '.join(f'`{name}`' for name in names)}, one row for each of the {words.records} except those whose "
            f"{category.words} is `{left_out}`. `time` is UTC in the form `2024-02-29T23:59:59Z`, rows go by "
            f"ascending time and, at the same second, by ascending {key.words}; `gap` is the number of seconds since "
            "the row before (`0` in the first row)."
        )
        solution = f"""
T="$(printf '\\t')"
awk -F'\\t' '${table.at("category")} != "{left_out}" {{ print ${table.at("time")} "\\t" ${table.at("key")} "\\t" ${table.at("category")} }}' \\
  "$W/records.tsv" | sort -t "$T" -k1,1n -k2,2 > "$W/line"
cut -f1 "$W/line" | sed 's/^/@/' | date -u -f - +%Y-%m-%dT%H:%M:%SZ > "$W/stamps"
{{ printf '{printed}\\n'
  paste "$W/stamps" "$W/line" | awk -F'\\t' '{{ print $1 "\\t" $3 "\\t" $4 "\\t" (NR > 1 ? $2 - p : 0); p = $2 }}'
}} > "$OUT"
"""
        units = {
            "header": f'header, rows = load_table(out, "\\t")\nsame(header, {names!r}, "the header")\n'
            'same(len(rows), want.count_of_rows, "the number of rows")',
            "times": 'import re\nrows = load_table(out, "\\t")[1]\nform = re.compile(r"\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ")\n'
            'same(all(form.fullmatch(row[0]) for row in rows), True, "all times in the form asked for")\n'
            'same_rows([row[0] for row in rows], want.times, "the times")',
            "order": 'same_rows([row[:3] for row in load_table(out, "\\t")[1]], want.events, "the events in order")',
            "gaps": 'gaps = [int(row[3]) for row in load_table(out, "\\t")[1]]\nsame(max(gaps), want.longest, "the longest gap")\n'
            'same(sum(gaps), want.span, "the sum of all gaps")',
            "bytes": 'same_rows(load_lines(out), want.lines, "the lines of " + out)',
        }
        return Posed(
            file="timeline.tsv",
            request=request,
            solution=solution,
            answers={lot: _answer(rows, left_out, header) for lot, rows in table.rows.items()},
            units=units,
            figure="greatest `gap` in {out}",
            command="awk -F'\\t' 'NR > 1 && $4 + 0 > m { m = $4 + 0 } END { if (NR > 1) print m + 0 }' {out}",
        )


def _answer(rows: tuple[Row, ...], left_out: str, header: str) -> Answer:
    events = sorted(
        (number(row["time"]), str(row["key"]), str(row["category"])) for row in rows if row["category"] != left_out
    )
    gaps = [0, *(after[0] - before[0] for before, after in pairwise(events))]
    lines = [f"{iso(when)}\t{key}\t{kind}\t{gap}" for (when, key, kind), gap in zip(events, gaps, strict=True)]
    expected = {
        "count_of_rows": len(lines),
        "times": [row_digest(iso(when)) for when, _, _ in events],
        "events": [row_digest([iso(when), key, kind]) for when, key, kind in events],
        "longest": max(gaps),
        "span": sum(gaps),
        "lines": [row_digest(line) for line in [header, *lines]],
    }
    return Answer(expected, str(max(gaps)), "".join(f"{line}\n" for line in [header, *lines]))
