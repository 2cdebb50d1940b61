"""A hash chain over records, so that a later change of any of them shows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.framework import RECORDS, Answer, Posed, Roles, Row, View, row_digest
from agents.embedded.library.wording import code

if TYPE_CHECKING:
    import random


class TamperEvidentChain:
    """κ: a canonical text per record, chained by SHA-256, with intermediate seals."""

    name: ClassVar[str] = "tamper-evident-chain"
    rarity: ClassVar[int] = 5
    needs: ClassVar[Mapping[str, Roles]] = {RECORDS: frozenset({"key", "category", "quantity"})}

    def pose(self, rng: random.Random, view: View) -> Posed:
        """The chain's first word and how often it is sealed."""
        table, words = view.table(), view.words
        roles = rng.choice(
            (("key", "category", "quantity"), ("key", "quantity", "category"), ("category", "key", "quantity"))
        )
        every, start = rng.randint(7, 12), rng.choice(("genesis", "anchor", "begin", "block-0"))
        names = [table.column(role).words for role in roles]
        request = (
            f"To make later changes show, chain its {words.records}, ascending by {table.column('key').words} (byte "
            f"value). The text of one is its {names[0]}, its {names[1]} and its {names[2]} with a vertical bar (`|`) "
            f"between them, figures in decimal without padding. The first link is the SHA-256 of {code(start)}; each "
            "next link is the SHA-256 of the link before it (64 lower-case hexadecimal digits), a line feed, and the "
            f"text of the next one of the {words.records}; no line feed at the end. Write `{{out}}` with `length` "
            f"(number of {words.records} in the chain), `first_text` and `last_text` (the text of the first and the "
            f"last), `seals` (the list of the links after every {every}th: after {every}, {2 * every}, {3 * every} … "
            "of them) and `head` (the last link)."
        )
        columns = ",".join(str(table.at(role) - 1) for role in roles)
        solution = f"""
sort -t "$(printf '\\t')" -k{table.at("key")},{table.at("key")} "$W/records.tsv" > "$W/ordered"
python3 - "$W/ordered" "$OUT" <<'PY'
import hashlib, json, sys
rows = [line.rstrip("\\n").split("\\t") for line in open(sys.argv[1], encoding="utf-8")]
texts = ["|".join(row[place] for place in ({columns})) for row in rows]
link, seals = hashlib.sha256(b"{start}").hexdigest(), []
for count, text in enumerate(texts, 1):
    link = hashlib.sha256(f"{{link}}\\n{{text}}".encode()).hexdigest()
    if count % {every} == 0:
        seals.append(link)
result = {{"length": len(texts), "first_text": texts[0], "last_text": texts[-1], "seals": seals, "head": link}}
json.dump(result, open(sys.argv[2], "w"), indent=1)
PY
"""
        units = {
            "shape": 'has_keys(load_json(out), ["length", "first_text", "last_text", "seals", "head"], out)',
            "texts": 'result = load_json(out)\nsame(result["length"], want.length, "length")\n'
            'same_rows([result["first_text"], result["last_text"]], want.texts, "first_text and last_text")',
            "seals": 'same_rows(load_json(out)["seals"], want.seals, "seals")',
            "head": 'same_rows([load_json(out)["head"]], want.head, "head")',
        }
        return Posed(
            file="chain.json",
            request=request,
            solution=solution,
            answers={lot: _answer(rows, roles, every, start) for lot, rows in table.rows.items()},
            units=units,
            figure="value of `head` in {out}",
            command='python3 -c \'import json; print(json.load(open("{out}"))["head"])\'',
        )


def _answer(rows: tuple[Row, ...], roles: tuple[str, ...], every: int, start: str) -> Answer:
    texts = ["|".join(str(row[role]) for role in roles) for row in sorted(rows, key=lambda row: str(row["key"]))]
    links = [hashlib.sha256(start.encode()).hexdigest()]
    for text in texts:
        links.append(hashlib.sha256(f"{links[-1]}\n{text}".encode()).hexdigest())
    expected = {
        "length": len(texts),
        "texts": [row_digest(text) for text in (texts[0], texts[-1])],
        "seals": [row_digest(link) for link in links[every::every]],
        "head": [row_digest(links[-1])],
    }
    return Answer(expected, links[-1])
