"""References between records: an order in which nothing comes before what it refers to, and what has no such order."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.framework import RECORDS, Answer, Posed, Roles, Row, View, row_digest

if TYPE_CHECKING:
    import random


class DependencyOrder:
    """κ: a topological order with a tie rule; cycles and dangling references set apart."""

    name: ClassVar[str] = "dependency-order"
    rarity: ClassVar[int] = 4
    needs: ClassVar[Mapping[str, Roles]] = {RECORDS: frozenset({"key", "ref"})}

    def pose(self, rng: random.Random, view: View) -> Posed:
        """Which end of the alphabet goes first among equals."""
        table, words = view.table(), view.words
        key, ref = table.column("key"), table.column("ref")
        last_first = rng.random() < 0.4
        first = "last" if last_first else "first"
        request = (
            f"Bring its {words.records} into an order in which each comes later than everything that its {ref.words} "
            f"names. Wherever several could come next, take the {first} of them by {key.words} (text compared by byte "
            f"value). A name that no {words.record} has is ignored in this, but listed in `unknown`. Where "
            f"{words.records} refer to each other in a circle there is no such order: those in a circle, and all that "
            f"depend on them, directly or not, are left out of it. Write `{{out}}` with `order` (the list), `stuck` "
            "(those left out, ascending), `unknown` (ascending, each name once) and `depth` (the number of "
            f"{words.records} in the longest chain within `order` in which each refers to the one before it)."
        )
        solution = f"""
python3 - "$W/records.tsv" "$OUT" <<'PY'
import json, sys
needs, unknown = {{}}, set()
rows = [line.rstrip("\\n").split("\\t") for line in open(sys.argv[1], encoding="utf-8")]
names = {{row[{table.at("key") - 1}] for row in rows}}
for row in rows:
    wanted = set(row[{table.at("ref") - 1}].split())
    unknown |= wanted - names
    needs[row[{table.at("key") - 1}]] = wanted & names
order, depth = [], {{}}
while True:
    ready = [name for name in needs if name not in depth and all(other in depth for other in needs[name])]
    if not ready:
        break
    name = {"max" if last_first else "min"}(ready)
    depth[name] = 1 + max((depth[other] for other in needs[name]), default=0)
    order.append(name)
result = {{"order": order, "stuck": sorted(names - set(order)), "unknown": sorted(unknown), "depth": max(depth.values(), default=0)}}
json.dump(result, open(sys.argv[2], "w"), indent=1)
PY
"""
        units = {
            "shape": 'has_keys(load_json(out), ["order", "stuck", "unknown", "depth"], out)',
            "order": 'same_rows(load_json(out)["order"], want.order, "order")',
            "stuck": 'same_rows(load_json(out)["stuck"], want.stuck, "stuck")',
            "unknown": 'same_rows(load_json(out)["unknown"], want.unknown, "unknown")',
            "depth": 'same(load_json(out)["depth"], want.depth, "depth")',
        }
        return Posed(
            file="order.json",
            request=request,
            solution=solution,
            answers={lot: _answer(rows, last_first) for lot, rows in table.rows.items()},
            units=units,
            figure="last entry of `order` in {out}",
            command='python3 -c \'import json; print(json.load(open("{out}"))["order"][-1])\'',
        )


class _Backwards(str):
    """A name that a heap takes in descending order."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)


def _answer(rows: tuple[Row, ...], last_first: bool) -> Answer:
    names = {str(row["key"]) for row in rows}
    wanted = {str(row["key"]): set(str(row["ref"]).split()) for row in rows}
    waiting = {name: others & names for name, others in wanted.items()}
    kind = _Backwards if last_first else str
    ready = [kind(name) for name, others in waiting.items() if not others]
    heapq.heapify(ready)
    depth: dict[str, int] = {}
    while ready:
        name = str(heapq.heappop(ready))
        depth[name] = 1 + max((depth[other] for other in wanted[name] & names), default=0)
        for later, others in waiting.items():
            if name in others:
                others.discard(name)
                if not others:
                    heapq.heappush(ready, kind(later))
    order = list(depth)
    expected = {
        "order": [row_digest(name) for name in order],
        "stuck": [row_digest(name) for name in sorted(names - depth.keys())],
        "unknown": [row_digest(name) for name in sorted(set().union(*wanted.values()) - names)],
        "depth": max(depth.values(), default=0),
    }
    return Answer(expected, order[-1])
