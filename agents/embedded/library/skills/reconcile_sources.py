"""Two sources that should agree: sum both sides, compare, list what does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.drawing import summed
from agents.embedded.library.framework import RECORDS, SECOND, Answer, Posed, Roles, Row, View, row_digest

if TYPE_CHECKING:
    import random


class ReconcileSources:
    """κ: a full outer join of two sums with a tolerance."""

    name: ClassVar[str] = "reconcile-sources"
    rarity: ClassVar[int] = 3
    needs: ClassVar[Mapping[str, Roles]] = {
        RECORDS: frozenset({"key", "entity", "quantity"}),
        SECOND: frozenset({"key", "quantity"}),
    }

    def pose(self, rng: random.Random, view: View) -> Posed:
        """The tolerance."""
        table, second, words = view.table(), view.table(SECOND), view.words
        ours, theirs = table.column("quantity"), second.column("quantity")
        subject = table.column(second.join)
        # A difference that occurs, so that "at most" and "less than" give different answers.
        gaps = sorted(
            gap
            for lot, rows in table.rows.items()
            for gap in _gaps(rows, second.rows[lot], second.join).values()
            if gap
        )
        slack = gaps[len(gaps) // 5] if gaps and rng.random() < 0.6 else 0
        within = f"differ by at most {slack} {ours.unit}".rstrip() if slack else "are equal"
        per = "" if second.join == "key" else f" (add up its {words.records})"
        keys = f"`{subject.name}`, `{ours.name}` and `{theirs.name}`"
        request = (
            f"Hold the two against each other. For each {subject.words}, compare the {ours.words} in the "
            f"{words.records}{per} with the sum of the {theirs.words} in the second source; they agree when they "
            f"{within}. Write `{{out}}` with `agreeing` (how many agree), `differing` (a list of objects with {keys}, "
            f"ascending by {subject.words}, for those that are in both but do not agree), `unanswered` (ascending "
            f"list of those that only the {words.records} have), `unknown` (ascending list of those that only the "
            "second source has) and `gap` (over all entries of `differing`, the sum of the absolute differences)."
        )
        solution = f"""
T="$(printf '\\t')"
total() {{ awk -F'\\t' -v k="$2" -v q="$3" '{{ s[$k] += $q }} END {{ for (n in s) print n "\\t" s[n] }}' "$1" | sort -t "$T" -k1,1; }}
total "$W/records.tsv" {table.at(second.join)} {table.at("quantity")} > "$W/ours"
total "$W/second.tsv" {second.at("key")} {second.at("quantity")} > "$W/theirs"
join -t "$T" "$W/ours" "$W/theirs" > "$W/shared"
join -t "$T" -v1 "$W/ours" "$W/theirs" | cut -f1 > "$W/unanswered"
join -t "$T" -v2 "$W/ours" "$W/theirs" | cut -f1 > "$W/unknown"
python3 - "$W" "$OUT" <<'PY'
import json, sys
work, out = sys.argv[1:]
lines = lambda name: open(f"{{work}}/{{name}}", encoding="utf-8").read().splitlines()
shared = [(name, int(a), int(b)) for name, a, b in (line.split("\\t") for line in lines("shared"))]
differing = [row for row in shared if abs(row[1] - row[2]) > {slack}]
json.dump({{
    "agreeing": len(shared) - len(differing),
    "differing": [{{"{subject.name}": n, "{ours.name}": a, "{theirs.name}": b}} for n, a, b in differing],
    "unanswered": lines("unanswered"),
    "unknown": lines("unknown"),
    "gap": sum(abs(a - b) for _, a, b in differing),
}}, open(out, "w"), indent=1)
PY
"""
        return Posed(
            file="reconciliation.json",
            request=request,
            solution=solution,
            answers={lot: _answer(rows, second.rows[lot], second.join, slack) for lot, rows in table.rows.items()},
            units=_units(subject.name, ours.name, theirs.name),
            figure="figure `gap` in {out}",
            command='python3 -c \'import json; print(json.load(open("{out}"))["gap"])\'',
            tables=(RECORDS, SECOND),
        )


def _units(subject: str, ours: str, theirs: str) -> dict[str, str]:
    return {
        "shape": 'result = load_json(out)\nhas_keys(result, ["agreeing", "differing", "unanswered", "unknown", "gap"], out)\n'
        f'for entry in result["differing"]:\n    has_keys(entry, ["{subject}", "{ours}", "{theirs}"], "an entry of differing")',
        "agreeing": 'same(load_json(out)["agreeing"], want.agreeing, "agreeing")',
        "differing": f'entries = [[e["{subject}"], e["{ours}"], e["{theirs}"]] for e in load_json(out)["differing"]]\n'
        'same_rows(entries, want.differing, "differing")\nsame(load_json(out)["gap"], want.gap, "gap")',
        "one_sided": 'same_rows(load_json(out)["unanswered"], want.unanswered, "unanswered")\n'
        'same_rows(load_json(out)["unknown"], want.unknown, "unknown")',
    }


def _gaps(rows: tuple[Row, ...], second: tuple[Row, ...], join: str) -> dict[str, int]:
    """Name in both → absolute difference of its two sums, ascending by name."""
    ours, theirs = summed(rows, join), summed(second, "key")
    return {name: abs(ours[name] - theirs[name]) for name in sorted(ours.keys() & theirs.keys())}


def _answer(rows: tuple[Row, ...], second: tuple[Row, ...], join: str, slack: int) -> Answer:
    ours, theirs = summed(rows, join), summed(second, "key")
    shared = _gaps(rows, second, join)
    differing = [[name, ours[name], theirs[name]] for name, gap in shared.items() if gap > slack]
    gap = sum(gap for gap in shared.values() if gap > slack)
    expected = {
        "agreeing": len(shared) - len(differing),
        "differing": [row_digest(entry) for entry in differing],
        "unanswered": [row_digest(name) for name in sorted(ours.keys() - theirs.keys())],
        "unknown": [row_digest(name) for name in sorted(theirs.keys() - ours.keys())],
        "gap": gap,
    }
    return Answer(expected, str(gap))
