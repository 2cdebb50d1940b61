"""Intervals that collide on the same resource, the busiest moment, and the time covered."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.framework import RECORDS, Answer, Posed, Roles, Row, View, row_digest
from agents.embedded.library.wording import clock, iso, number

if TYPE_CHECKING:
    import random


class IntervalOverlaps:
    """κ: conflicts by pairs, peak concurrency, length of the union."""

    name: ClassVar[str] = "interval-overlaps"
    rarity: ClassVar[int] = 4
    needs: ClassVar[Mapping[str, Roles]] = {RECORDS: frozenset({"key", "entity", "start", "end"})}

    def pose(self, rng: random.Random, view: View) -> Posed:
        """How the request opens; the columns' unit says how times are written."""
        table, words = view.table(), view.words
        key, entity, start = table.column("key"), table.column("entity"), table.column("start")
        clocked = start.unit == "minutes"
        form = "`07:05`" if clocked else "`2024-02-29T23:59:59Z`, UTC"
        opening = rng.choice(
            ("Find out where they get in each other's way.", "Look for collisions.", "Somebody suspects collisions.")
        )
        request = (
            f"{opening} Two {words.records} of the same {entity.words} conflict when they share more than a moment "
            f"(one that begins just when the other ends does not). Write `{{out}}` with `conflicts` (a list of pairs, "
            f"each a list of the two's {key.words}, the smaller one first, the list ascending by first and then "
            f"second element, by byte value), `entangled` (how many {words.records} are in at least one conflict), "
            f"`peak` (the greatest number of {words.records} that run at the same time, whatever their "
            f"{entity.words}), `peak_from` (the earliest moment at which that many run, in the form {form}) and "
            f"`covered` (the number of {start.unit} during which at least one {words.record} runs)."
        )
        shown = (
            '"%02d:%02d" % divmod(peak_from, 60)'
            if clocked
            else 'time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(peak_from))'
        )
        solution = f"""
python3 - "$W/records.tsv" "$OUT" <<'PY'
import itertools, json, sys, time
rows = [line.rstrip("\\n").split("\\t") for line in open(sys.argv[1], encoding="utf-8")]
spans = sorted((row[{table.at("key") - 1}], row[{table.at("entity") - 1}], int(row[{table.at("start") - 1}]), int(row[{table.at("end") - 1}])) for row in rows)
conflicts = [[a[0], b[0]] for a, b in itertools.combinations(spans, 2) if a[1] == b[1] and a[2] < b[3] and b[2] < a[3]]
steps = sorted([(span[2], 1) for span in spans] + [(span[3], -1) for span in spans])
running = peak = peak_from = covered = last = 0
for moment, change in steps:
    if running:
        covered += moment - last
    running, last = running + change, moment
    if running > peak:
        peak, peak_from = running, moment
result = {{
    "conflicts": sorted(conflicts),
    "entangled": len({{key for pair in conflicts for key in pair}}),
    "peak": peak,
    "peak_from": {shown},
    "covered": covered,
}}
json.dump(result, open(sys.argv[2], "w"), indent=1)
PY
"""
        return Posed(
            file="conflicts.json",
            request=request,
            solution=solution,
            answers={lot: _answer(rows, clocked) for lot, rows in table.rows.items()},
            units=_units(),
            figure="figure `covered` in {out}",
            command='python3 -c \'import json; print(json.load(open("{out}"))["covered"])\'',
        )


def _units() -> dict[str, str]:
    return {
        "shape": 'has_keys(load_json(out), ["conflicts", "entangled", "peak", "peak_from", "covered"], out)',
        "conflicts": 'same_rows(load_json(out)["conflicts"], want.conflicts, "conflicts")',
        "entangled": 'same(load_json(out)["entangled"], want.entangled, "entangled")',
        "peak": 'result = load_json(out)\nsame(result["peak"], want.peak, "peak")\nsame(result["peak_from"], want.peak_from, "peak_from")',
        "covered": 'same(load_json(out)["covered"], want.covered, "covered")',
    }


def _answer(rows: tuple[Row, ...], clocked: bool) -> Answer:
    spans = sorted((str(r["key"]), str(r["entity"]), number(r["start"]), number(r["end"])) for r in rows)
    conflicts = sorted(
        [a[0], b[0]] for a, b in combinations(spans, 2) if a[1] == b[1] and max(a[2], b[2]) < min(a[3], b[3])
    )
    running = {moment: sum(span[2] <= moment < span[3] for span in spans) for _, _, moment, _ in spans}
    peak = max(running.values())
    peak_from = min(moment for moment, count in running.items() if count == peak)
    covered, reached = 0, 0
    for start, end in sorted((span[2], span[3]) for span in spans):
        covered += max(0, end - max(start, reached))
        reached = max(reached, end)
    expected = {
        "conflicts": [row_digest(pair) for pair in conflicts],
        "entangled": len({key for pair in conflicts for key in pair}),
        "peak": peak,
        "peak_from": clock(peak_from) if clocked else iso(peak_from),
        "covered": covered,
    }
    return Answer(expected, str(covered))
