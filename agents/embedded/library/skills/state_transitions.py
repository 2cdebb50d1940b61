"""How each actor's state changes over time: transitions, the longest run, the restless ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.framework import RECORDS, Answer, Posed, Roles, Row, View, row_digest
from agents.embedded.library.wording import number

if TYPE_CHECKING:
    import random


class StateTransitions:
    """κ: a table of transitions between states of the same actor."""

    name: ClassVar[str] = "state-transitions"
    rarity: ClassVar[int] = 4
    needs: ClassVar[Mapping[str, Roles]] = {RECORDS: frozenset({"key", "entity", "category", "time", "story"})}

    def pose(self, rng: random.Random, view: View) -> Posed:
        """How many changes make an actor restless."""
        table, words = view.table(), view.words
        entity, category, key = table.column("entity"), table.column("category"), table.column("key")
        changes = sorted(len(runs) - 1 for rows in table.rows.values() for runs in _runs(rows).values())
        many = max(2, changes[int(len(changes) * rng.uniform(0.55, 0.8))])
        request = (
            f"Follow the {category.words} of each {entity.words} through time ({words.records} of one {entity.words} "
            f"by ascending time, at the same second by ascending {key.words}). A switch is two neighbours with a "
            f"different {category.words}. Write `{{out}}` with `switches` (how many there are in all), `pairs` (an "
            "object: `before>after`, for instance `a>b`, → how many switches of that sort; sorts that do not occur "
            "are left out), `steady` (the number of those that never switch), `restless` (ascending list of every "
            f"{entity.words} with at least {many} switches) and `longest_run`: an object with `{entity.name}`, "
            f"`{category.name}` and `length` for the longest unbroken run of the same {category.words} (among equals "
            f"the first {entity.words} in ascending order, and its earliest such run)."
        )
        solution = f"""
T="$(printf '\\t')"
sort -t "$T" -k{table.at("entity")},{table.at("entity")} -k{table.at("time")},{table.at("time")}n -k{table.at("key")},{table.at("key")} \\
  "$W/records.tsv" | cut -f{table.at("entity")},{table.at("category")} > "$W/states"
python3 - "$W/states" "$OUT" <<'PY'
import collections, itertools, json, sys
rows = [line.rstrip("\\n").split("\\t") for line in open(sys.argv[1], encoding="utf-8")]
pairs, per, longest = collections.Counter(), {{}}, None
for who, mine in itertools.groupby(rows, key=lambda row: row[{0 if table.at("entity") < table.at("category") else 1}]):
    runs = [(state, len(list(run))) for state, run in itertools.groupby(row[{1 if table.at("entity") < table.at("category") else 0}] for row in mine)]
    pairs.update(f"{{before[0]}}>{{after[0]}}" for before, after in zip(runs, runs[1:]))
    per[who] = len(runs) - 1
    for state, length in runs:
        if longest is None or length > longest["length"]:
            longest = {{"{entity.name}": who, "{category.name}": state, "length": length}}
result = {{
    "switches": sum(per.values()),
    "pairs": pairs,
    "steady": sum(not count for count in per.values()),
    "restless": sorted(who for who, count in per.items() if count >= {many}),
    "longest_run": longest,
}}
json.dump(result, open(sys.argv[2], "w"), indent=1)
PY
"""
        return Posed(
            file=f"{category.name.replace('_', '-')}-switches.json",
            request=request,
            solution=solution,
            answers={lot: _answer(rows, many, (entity.name, category.name)) for lot, rows in table.rows.items()},
            units=_units(entity.name, category.name),
            figure="figure `switches` in {out}",
            command='python3 -c \'import json; print(json.load(open("{out}"))["switches"])\'',
        )


def _units(entity: str, category: str) -> dict[str, str]:
    return {
        "shape": 'result = load_json(out)\nhas_keys(result, ["switches", "pairs", "steady", "restless", "longest_run"], out)\n'
        f'has_keys(result["longest_run"], ["{entity}", "{category}", "length"], "longest_run")',
        "switches": 'same(load_json(out)["switches"], want.switches, "switches")',
        "pairs": 'same(load_json(out)["pairs"], want.pairs, "pairs")',
        "calm_and_restless": 'same(load_json(out)["steady"], want.steady, "steady")\nsame_rows(load_json(out)["restless"], want.restless, "restless")',
        "longest_run": 'same(load_json(out)["longest_run"], want.longest_run, "longest_run")',
    }


def _runs(rows: tuple[Row, ...]) -> dict[str, list[tuple[str, int]]]:
    """Actor → its runs as (state, length), actors ascending."""
    ordered = sorted(rows, key=lambda row: (str(row["entity"]), number(row["time"]), str(row["key"])))
    runs: dict[str, list[tuple[str, int]]] = {}
    for who, mine in groupby(ordered, key=lambda row: str(row["entity"])):
        runs[who] = [(state, len(list(run))) for state, run in groupby(str(row["category"]) for row in mine)]
    return runs


def _answer(rows: tuple[Row, ...], many: int, names: tuple[str, str]) -> Answer:
    runs = _runs(rows)
    pairs = Counter(f"{before[0]}>{after[0]}" for mine in runs.values() for before, after in pairwise(mine))
    flat = [(who, state, length) for who, mine in runs.items() for state, length in mine]
    who, state, length = max(flat, key=lambda run: run[2])
    switches = sum(pairs.values())
    expected = {
        "switches": switches,
        "pairs": dict(pairs),
        "steady": sum(len(mine) == 1 for mine in runs.values()),
        "restless": [row_digest(name) for name, mine in runs.items() if len(mine) - 1 >= many],
        "longest_run": {names[0]: who, names[1]: state, "length": length},
    }
    return Answer(expected, str(switches))
