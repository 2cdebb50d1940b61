"""Several versions of the same record: keep the newest, say what that changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.framework import VERSIONS, Answer, Posed, Roles, Row, View, row_digest
from agents.embedded.library.wording import number

if TYPE_CHECKING:
    import random


class LatestVersionWins:
    """κ: duplicates removed by revision, with the changes listed."""

    name: ClassVar[str] = "latest-version-wins"
    rarity: ClassVar[int] = 2
    needs: ClassVar[Mapping[str, Roles]] = {VERSIONS: frozenset({"key", "revision", "category", "quantity"})}

    def pose(self, rng: random.Random, view: View) -> Posed:
        """Whether changes are those of the quantity or of the category."""
        table, words = view.table(VERSIONS), view.words
        key, revision, category, quantity = (table.column(role) for role in ("key", "revision", "category", "quantity"))
        watched = category if rng.random() < 0.5 and _changes(table.rows, "category") else quantity
        total, split = f"total_{quantity.name}", f"by_{category.name}"
        request = (
            f"Bring it down to one row for each {key.words}: the one with the highest {revision.words} stands "
            "(compared as a number), and where that one comes more than once, the row that was read last. Write "
            f"`{{out}}` with `kept` (rows that stand), `superseded` (rows that do not), `{total}` (the sum of the "
            f"{quantity.words} over the rows that stand), `{split}` (an object: {category.words} → number of rows "
            f"that stand) and `changed`: the ascending list of every {key.words} whose standing row has another "
            f"{watched.words} than its row with the lowest {revision.words} (where that one comes more than once, the "
            "row read first)."
        )
        solution = f"""
python3 - "$W/versions.tsv" "$OUT" <<'PY'
import collections, json, sys
first, last, rows = {{}}, {{}}, 0
for text in open(sys.argv[1], encoding="utf-8"):
    row = text.rstrip("\\n").split("\\t")
    key, revision = row[{table.at("key") - 1}], int(row[{table.at("revision") - 1}])
    rows += 1
    if key not in last or revision >= last[key][0]:
        last[key] = (revision, row)
    if key not in first or revision < first[key][0]:
        first[key] = (revision, row)
watched = {table.at(watched.role) - 1}
result = {{
    "kept": len(last),
    "superseded": rows - len(last),
    "{total}": sum(int(row[{table.at("quantity") - 1}]) for _, row in last.values()),
    "{split}": dict(collections.Counter(row[{table.at("category") - 1}] for _, row in last.values())),
    "changed": sorted(key for key in last if first[key][1][watched] != last[key][1][watched]),
}}
json.dump(result, open(sys.argv[2], "w"), indent=1)
PY
"""
        units = {
            "shape": f'has_keys(load_json(out), ["kept", "superseded", "{total}", "{split}", "changed"], out)',
            "kept": 'result = load_json(out)\nsame(result["kept"], want.kept, "kept")\n'
            'same(result["superseded"], want.superseded, "superseded")',
            total: f'same(load_json(out)["{total}"], want.{total}, "{total}")',
            split: f'same(load_json(out)["{split}"], want.{split}, "{split}")',
            "changed": 'same_rows(load_json(out)["changed"], want.changed, "changed")',
        }
        return Posed(
            file=f"latest-{words.records.replace(' ', '-')}.json",
            request=request,
            solution=solution,
            answers={lot: _answer(rows, watched.role, total, split) for lot, rows in table.rows.items()},
            units=units,
            figure=f"figure `{total}` in {{out}}",
            command=f'python3 -c \'import json; print(json.load(open("{{out}}"))["{total}"])\'',
            tables=(VERSIONS,),
        )


def _changes(lots: Mapping[str, tuple[Row, ...]], role: str) -> bool:
    """Whether any record has several values of a role over its versions."""
    return any(
        len({(row["key"], row[role]) for row in rows}) > len({row["key"] for row in rows}) for rows in lots.values()
    )


def _answer(rows: tuple[Row, ...], watched: str, total: str, split: str) -> Answer:
    first: dict[str, Row] = {}
    last: dict[str, Row] = {}
    for row in rows:
        key = str(row["key"])
        if key not in last or number(row["revision"]) >= number(last[key]["revision"]):
            last[key] = row
        if key not in first or number(row["revision"]) < number(first[key]["revision"]):
            first[key] = row
    amount = sum(number(row["quantity"]) for row in last.values())
    changed = sorted(key for key in last if first[key][watched] != last[key][watched])
    expected = {
        "kept": len(last),
        "superseded": len(rows) - len(last),
        total: amount,
        split: dict(Counter(str(row["category"]) for row in last.values())),
        "changed": [row_digest(key) for key in changed],
    }
    return Answer(expected, str(amount))
