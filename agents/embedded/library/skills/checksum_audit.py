"""Files against a list of checksums: intact, altered, missing, never listed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.framework import MANIFEST, Answer, Posed, Roles, Row, View

if TYPE_CHECKING:
    import random

_LISTS = ("altered", "missing", "unlisted")


class ChecksumAudit:
    """κ: an audit of files against a list of SHA-256 sums."""

    name: ClassVar[str] = "checksum-audit"
    rarity: ClassVar[int] = 2
    needs: ClassVar[Mapping[str, Roles]] = {MANIFEST: frozenset({"key", "listed", "actual"})}

    def pose(self, rng: random.Random, view: View) -> Posed:
        """How the request opens."""
        table = view.table(MANIFEST)
        opening = rng.choice((
            "Before anybody relies on the copy, audit it against that list.",
            "Somebody says the copy is not complete. Find out from that list.",
            "Check every file against that list.",
        ))  # fmt: skip
        request = (
            f"{opening} `{{out}}` gets `intact` (how many files have the sum that is listed for them), `altered` "
            "(files with another sum than the listed one), `missing` (listed, but not there), `unlisted` (there, but "
            "not listed) and `seal`. The three lists hold names ascending; `seal` is the SHA-256, in lower-case "
            "hexadecimal, of a text with one line for each intact file, ascending by name: its sum, one space, its "
            "name, and a line feed (an empty text if no file is intact)."
        )
        solution = f"""
python3 - "$W/manifest.tsv" "$OUT" <<'PY'
import hashlib, json, sys
result = {{"intact": 0, "altered": [], "missing": [], "unlisted": []}}
seal = hashlib.sha256()
for row in sorted(line.rstrip("\\n").split("\\t") for line in open(sys.argv[1], encoding="utf-8")):
    name, listed, actual = row[{table.at("key") - 1}], row[{table.at("listed") - 1}], row[{table.at("actual") - 1}]
    if listed == actual:
        result["intact"] += 1
        seal.update(f"{{actual}} {{name}}\\n".encode())
    else:
        result["unlisted" if listed == "-" else "missing" if actual == "-" else "altered"].append(name)
result["seal"] = seal.hexdigest()
json.dump(result, open(sys.argv[2], "w"), indent=1)
PY
"""
        units = {
            "shape": 'has_keys(load_json(out), ["intact", "altered", "missing", "unlisted", "seal"], out)',
            "intact": 'same(load_json(out)["intact"], want.intact, "intact")',
            **{name: f'same(load_json(out)["{name}"], want.{name}, "{name}")' for name in _LISTS},
            "seal": 'same(load_json(out)["seal"], want.seal, "seal")',
        }
        return Posed(
            file="checksum-audit.json",
            request=request,
            solution=solution,
            answers={lot: _answer(rows) for lot, rows in table.rows.items()},
            units=units,
            figure="value of `seal` in {out}",
            command='python3 -c \'import json; print(json.load(open("{out}"))["seal"])\'',
            tables=(MANIFEST,),
        )


def _answer(rows: tuple[Row, ...]) -> Answer:
    found: dict[str, list[str]] = {name: [] for name in ("intact", *_LISTS)}
    seal = ""
    for row in sorted(rows, key=lambda row: str(row["key"])):
        name, listed, actual = (str(row[role]) for role in ("key", "listed", "actual"))
        if listed == actual:
            found["intact"].append(name)
            seal += f"{actual} {name}\n"
        else:
            found["unlisted" if listed == "-" else "missing" if actual == "-" else "altered"].append(name)
    digest = hashlib.sha256(seal.encode()).hexdigest()
    return Answer({**found, "intact": len(found["intact"]), "seal": digest}, digest)
