"""Reference codes pulled out of free text and counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.framework import RECORDS, Answer, Posed, Roles, Row, View, row_digest

if TYPE_CHECKING:
    import random

_CODE = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2,3}-[0-9]{4}(?![A-Za-z0-9])")


class PatternHarvest:
    """κ: a regular expression with boundaries, occurrences against records."""

    name: ClassVar[str] = "pattern-harvest"
    rarity: ClassVar[int] = 2
    needs: ClassVar[Mapping[str, Roles]] = {RECORDS: frozenset({"key", "text"})}

    def pose(self, rng: random.Random, view: View) -> Posed:
        """How the request opens."""
        table, words = view.table(), view.words
        key, text = table.column("key"), table.column("text")
        opening = rng.choice((
            f"Collect the reference codes that are scattered over the {text.words} of its {words.records}.",
            f"Somebody needs an index of the reference codes in the {text.words} of its {words.records}.",
        ))  # fmt: skip
        header = f"code,occurrences,{words.records.replace(' ', '_')},first"
        request = (
            f"{opening} A code is two or three capital letters A–Z, a hyphen and four digits, with neither a letter "
            f"nor a digit right before or after it. Write `{{out}}`, a CSV with the header `{header}`: for each code "
            f"how often it occurs, in how many {words.records} it occurs, and the {key.words} of the first of these "
            "in ascending order. Rows go by `occurrences` descending, then by code ascending."
        )
        solution = f"""
cut -f{table.at("key")},{table.at("text")} "$W/records.tsv" | python3 -c '
import re, sys
form = re.compile(r"(?<![A-Za-z0-9])[A-Z]{{2,3}}-[0-9]{{4}}(?![A-Za-z0-9])")
for line in sys.stdin:
    key, _, text = line.rstrip("\\n").partition("\\t")
    for code in form.findall(text):
        print(code, key, sep="\\t")
' | sort > "$W/found"
{{ echo '{header}'
  awk -F'\\t' '!($1 in n) {{ first[$1] = $2 }} {{ n[$1]++ }} !seen[$1, $2]++ {{ m[$1]++ }}
    END {{ for (c in n) print c "," n[c] "," m[c] "," first[c] }}' "$W/found" | sort -t, -k2,2nr -k1,1
}} > "$OUT"
"""
        units = {
            "header": f'header, rows = load_table(out)\nsame(header, "{header}".split(","), "the header")\n'
            'same(len(rows), want.codes, "the number of codes")',
            "occurrences": 'same_rows([row[:2] for row in load_table(out)[1]], want.occurrences, "codes and occurrences")',
            "records": 'same_rows(sorted([row[0], row[2]] for row in load_table(out)[1]), want.records, "the third column")',
            "first": 'same_rows(sorted([row[0], row[3]] for row in load_table(out)[1]), want.first, "the column first")',
        }
        return Posed(
            file="code-index.csv",
            request=request,
            solution=solution,
            answers={lot: _answer(rows, header) for lot, rows in table.rows.items()},
            units=units,
            figure="sum of the column `occurrences` in {out}",
            command="awk -F, 'NR > 1 { s += $2 } END { if (NR) printf \"%d\\n\", s }' {out}",
        )


def _answer(rows: tuple[Row, ...], header: str) -> Answer:
    found = [(code, str(row["key"])) for row in rows for code in _CODE.findall(str(row["text"]))]
    counts = Counter(code for code, _ in found)
    keys = {code: sorted({key for other, key in found if other == code}) for code in counts}
    order = sorted(counts, key=lambda code: (-counts[code], code))
    lines = [header, *(f"{code},{counts[code]},{len(keys[code])},{keys[code][0]}" for code in order)]
    expected = {
        "codes": len(counts),
        "occurrences": [row_digest([code, str(counts[code])]) for code in order],
        "records": [row_digest([code, str(len(keys[code]))]) for code in sorted(counts)],
        "first": [row_digest([code, keys[code][0]]) for code in sorted(counts)],
    }
    return Answer(expected, str(len(found)), "".join(f"{line}\n" for line in lines))
