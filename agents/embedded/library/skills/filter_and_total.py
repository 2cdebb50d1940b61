"""Filter by two conditions, count, add up, split by a second column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.framework import RECORDS, Answer, Posed, Roles, Row, View
from agents.embedded.library.wording import distinct, either, number, round_sensibly

if TYPE_CHECKING:
    import random


class FilterAndTotal:
    """κ: how many match, how much that is, and how it splits."""

    name: ClassVar[str] = "filter-and-total"
    rarity: ClassVar[int] = 1
    needs: ClassVar[Mapping[str, Roles]] = {RECORDS: frozenset({"key", "category", "group", "quantity"})}

    def pose(self, rng: random.Random, view: View) -> Posed:
        """Two or three categories and a least quantity."""
        table, words = view.table(), view.words
        key, category, group, quantity = (table.column(role) for role in ("key", "category", "group", "quantity"))
        kinds = distinct(table.pooled("category"))
        wanted = sorted(str(kind) for kind in rng.sample(kinds, min(len(kinds) - 1, rng.randint(2, 3))))
        sizes = sorted(number(value) for value in table.pooled("quantity"))
        least = max(1, round_sensibly(sizes[int(len(sizes) * rng.uniform(0.25, 0.4))]))
        total, split = f"total_{quantity.name}", f"by_{group.name}"
        condition = " || ".join(f'${table.at("category")} == "{kind}"' for kind in wanted)
        unit = f" {quantity.unit}" if quantity.unit else ""
        request = (
            f"Of its {words.records}, take those whose {category.words} is {either(wanted)} and whose "
            f"{quantity.words} is at least {least}{unit}, and write `{{out}}` with the keys `matched` (how many they "
            f"are), `{total}` (the sum of their {quantity.words}), `{split}` (an object with an entry for each "
            f"{group.words} that occurs among them, itself an object with `count` and `{total}`) and `largest` (the "
            f"{key.words} of the one with the greatest {quantity.words}; among equals the first in ascending order)."
        )
        solution = f"""
awk -F'\\t' '({condition}) && ${table.at("quantity")} >= {least} {{
    n++; t += ${table.at("quantity")}; c[${table.at("group")}]++; s[${table.at("group")}] += ${table.at("quantity")}
    if (n == 1 || ${table.at("quantity")} > q || (${table.at("quantity")} == q && ${table.at("key")} "" < k)) {{
      q = ${table.at("quantity")} + 0; k = ${table.at("key")} "" }}
  }}
  END {{
    printf "{{\\"matched\\": %d, \\"{total}\\": %d, \\"largest\\": \\"%s\\", \\"{split}\\": {{", n, t, k
    for (g in c) {{ printf "%s\\"%s\\": {{\\"count\\": %d, \\"{total}\\": %d}}", sep, g, c[g], s[g]; sep = ", " }}
    print "}}}}"
  }}' "$W/records.tsv" > "$OUT"
"""
        units = {
            "shape": f'result = load_json(out)\nhas_keys(result, ["matched", "{total}", "{split}", "largest"], out)',
            "matched": f'result = load_json(out)\nsame(result["matched"], want.matched, "matched")\n'
            f'same(result["{total}"], want.{total}, "{total}")',
            split: f'result = load_json(out)\nsame(result["{split}"], want.{split}, "{split}")\n'
            f'same(sum(part["count"] for part in result["{split}"].values()), want.matched, "the sum of all count")',
            "largest": 'same(load_json(out)["largest"], want.largest, "largest")',
        }
        return Posed(
            file=f"{category.name.replace('_', '-')}-totals.json",
            request=request,
            solution=solution,
            answers={lot: _answer(rows, wanted, least, total, split) for lot, rows in table.rows.items()},
            units=units,
            figure=f"figure `{total}` in {{out}}",
            command=f'python3 -c \'import json; print(json.load(open("{{out}}"))["{total}"])\'',
        )


def _answer(rows: tuple[Row, ...], wanted: list[str], least: int, total: str, split: str) -> Answer:
    matched = [row for row in rows if row["category"] in wanted and number(row["quantity"]) >= least]
    parts: dict[str, dict[str, int]] = {}
    for row in matched:
        part = parts.setdefault(str(row["group"]), {"count": 0, total: 0})
        part["count"] += 1
        part[total] += number(row["quantity"])
    amount = sum(part[total] for part in parts.values())
    largest = min(matched, key=lambda row: (-number(row["quantity"]), str(row["key"])))["key"] if matched else ""
    return Answer({"matched": len(matched), total: amount, split: parts, "largest": largest}, str(amount))
