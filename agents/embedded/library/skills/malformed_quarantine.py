"""Damaged lines found, sorted by reason and accounted for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.framework import REJECTS, Answer, Posed, Roles, Row, View, row_digest
from agents.embedded.library.wording import number

if TYPE_CHECKING:
    import random


class MalformedQuarantine:
    """κ: a report on every line that does not parse."""

    name: ClassVar[str] = "malformed-quarantine"
    rarity: ClassVar[int] = 2
    needs: ClassVar[Mapping[str, Roles]] = {REJECTS: frozenset({"file", "line", "reason"})}

    def pose(self, rng: random.Random, view: View) -> Posed:
        """How the request opens."""
        table = view.table(REJECTS)
        opening = rng.choice((
            "Account for every line that has to go into quarantine.",
            "Say exactly what is wrong with what we were sent.",
            "The sender wants to know which lines we could not use.",
        ))  # fmt: skip
        request = (
            f"{opening} Write `{{out}}` with `good` and `bad` (numbers of lines), `by_reason` (an object: reason → "
            "number of lines, only reasons that occur), `worst_file` (the file with the most bad lines; among equals "
            "the first in ascending order), `line_sum` (the sum of the line numbers of all bad lines) and `lines` "
            "(the list of the bad lines, each as `file:line:reason`, ascending by file name and within a file by "
            "line number)."
        )
        solution = f"""
T="$(printf '\\t')"
sort -t "$T" -k{table.at("file")},{table.at("file")} -k{table.at("line")},{table.at("line")}n "$W/rejects.tsv" > "$W/sorted"
python3 - "$W/sorted" "$OUT" <<'PY'
import collections, json, sys
rows = [line.rstrip("\\n").split("\\t") for line in open(sys.argv[1], encoding="utf-8")]
bad = [row for row in rows if row[2] != "ok"]
files = collections.Counter(row[0] for row in bad)
result = {{
    "good": len(rows) - len(bad),
    "bad": len(bad),
    "by_reason": dict(collections.Counter(row[2] for row in bad)),
    "worst_file": min(files, key=lambda name: (-files[name], name)),
    "line_sum": sum(int(row[1]) for row in bad),
    "lines": [":".join(row) for row in bad],
}}
json.dump(result, open(sys.argv[2], "w"), indent=1)
PY
"""
        units = {
            "shape": 'has_keys(load_json(out), ["good", "bad", "by_reason", "worst_file", "line_sum", "lines"], out)',
            "counts": 'result = load_json(out)\nsame(result["good"], want.good, "good")\nsame(result["bad"], want.bad, "bad")',
            "reasons": 'same(load_json(out)["by_reason"], want.by_reason, "by_reason")',
            "worst_file": 'same(load_json(out)["worst_file"], want.worst_file, "worst_file")',
            "lines": 'same_rows(load_json(out)["lines"], want.lines, "lines")\nsame(load_json(out)["line_sum"], want.line_sum, "line_sum")',
        }
        return Posed(
            file="quarantine.json",
            request=request,
            solution=solution,
            answers={lot: _answer(rows) for lot, rows in table.rows.items()},
            units=units,
            figure="figure `line_sum` in {out}",
            command='python3 -c \'import json; print(json.load(open("{out}"))["line_sum"])\'',
            tables=(REJECTS,),
        )


def _answer(rows: tuple[Row, ...]) -> Answer:
    bad = sorted(
        (row for row in rows if row["reason"] != "ok"), key=lambda row: (str(row["file"]), number(row["line"]))
    )
    files = Counter(str(row["file"]) for row in bad)
    line_sum = sum(number(row["line"]) for row in bad)
    expected = {
        "good": len(rows) - len(bad),
        "bad": len(bad),
        "by_reason": dict(Counter(str(row["reason"]) for row in bad)),
        "worst_file": min(files, key=lambda name: (-files[name], name), default=""),
        "line_sum": line_sum,
        "lines": [row_digest(f"{row['file']}:{row['line']}:{row['reason']}") for row in bad],
    }
    return Answer(expected, str(line_sum))
