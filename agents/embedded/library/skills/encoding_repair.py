"""Texts in all kinds of encodings brought to UTF-8."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.framework import ENCODED, Answer, Posed, Roles, Row, View, row_digest

if TYPE_CHECKING:
    import random


class EncodingRepair:
    """κ: decode each by its label, count characters and bytes."""

    name: ClassVar[str] = "encoding-repair"
    rarity: ClassVar[int] = 4
    needs: ClassVar[Mapping[str, Roles]] = {ENCODED: frozenset({"key", "coding", "raw", "plain"})}

    def pose(self, rng: random.Random, view: View) -> Posed:
        """Whether the output is TSV in one order or the other."""
        table = view.table(ENCODED)
        key = table.column("key")
        by_length = rng.random() < 0.5
        order = "ascending number of characters, then by " if by_length else "ascending "
        header = f"{key.name}\tcharacters\tbytes\ttext"
        request = (
            f"Make them all plain UTF-8 in one file, `{{out}}`: tab-separated without any quoting, the header "
            f"`{key.name}`, `characters`, `bytes`, `text`, and one line for each {key.words}, by {order}{key.words} "
            "(byte value). `text` is what the text says, `characters` its number of Unicode code points, `bytes` its "
            "length in UTF-8. A line break within a text is written as one space and counts as that; line breaks at "
            "its end do not belong to it."
        )
        solution = f"""
python3 - "$W/encoded.tsv" "$OUT" <<'PY'
import base64, quopri, sys, urllib.parse
def plain(coding, raw):
    if coding == "base64":
        raw, coding = base64.b64decode(raw), "utf-8"
    elif coding == "hex":
        raw, coding = bytes.fromhex(raw.decode()), "utf-8"
    elif coding == "quoted-printable":
        raw, coding = quopri.decodestring(raw), "utf-8"
    elif coding == "percent":
        raw, coding = urllib.parse.unquote_to_bytes(raw), "utf-8"
    elif coding == "twice":
        raw, coding = raw.decode("utf-8").encode("iso-8859-1"), "utf-8"
    return " ".join(raw.decode(coding).rstrip("\\r\\n").splitlines())
rows = []
for line in open(sys.argv[1], encoding="utf-8"):
    row = line.rstrip("\\n").split("\\t")
    rows.append((row[{table.at("key") - 1}], plain(row[{table.at("coding") - 1}], bytes.fromhex(row[{table.at("raw") - 1}]))))
rows.sort(key=lambda row: {"(len(row[1]), row[0])" if by_length else "row[0]"})
with open(sys.argv[2], "w", encoding="utf-8", newline="\\n") as out:
    out.write("{key.name}\\tcharacters\\tbytes\\ttext\\n")
    out.writelines(f"{{key}}\\t{{len(text)}}\\t{{len(text.encode())}}\\t{{text}}\\n" for key, text in rows)
PY
"""
        return Posed(
            file=f"{key.name.replace('_', '-')}-texts.tsv",
            request=request,
            solution=solution,
            answers={lot: _answer(rows, by_length, header) for lot, rows in table.rows.items()},
            units=_units(key.name),
            figure="sum of the column `bytes` in {out}",
            command="awk -F'\\t' 'NR > 1 { s += $3 } END { if (NR) printf \"%d\\n\", s }' {out}",
            tables=(ENCODED,),
        )


def _units(key: str) -> dict[str, str]:
    return {
        "utf8": f'lines = load_lines(out)\nsame(lines[0], "{key}\\tcharacters\\tbytes\\ttext", "the header")\n'
        'same(len(lines) - 1, want.count, "the number of lines")',
        "lengths": 'rows = [line.split("\\t") for line in load_lines(out)[1:]]\n'
        'same_rows([[row[0], row[1]] for row in rows], want.characters, "the column characters")\n'
        'same_rows([[row[0], row[2]] for row in rows], want.bytes, "the column bytes")',
        "texts": 'rows = sorted(line.split("\\t") for line in load_lines(out)[1:])\n'
        'same_rows([row[3] for row in rows], want.texts, "the texts")',
        "bytes": 'same_rows(load_lines(out), want.lines, "the lines of " + out)',
    }


def _answer(rows: tuple[Row, ...], by_length: bool, header: str) -> Answer:
    texts = [(str(row["key"]), str(row["plain"])) for row in rows]
    texts.sort(key=lambda pair: (len(pair[1]), pair[0]) if by_length else (0, pair[0]))
    table = [[key, str(len(text)), str(len(text.encode())), text] for key, text in texts]
    lines = [header, *("\t".join(row) for row in table)]
    expected = {
        "count": len(table),
        "characters": [row_digest(row[:2]) for row in table],
        "bytes": [row_digest([row[0], row[2]]) for row in table],
        "texts": [row_digest(row[3]) for row in sorted(table)],
        "lines": [row_digest(line) for line in lines],
    }
    return Answer(expected, str(sum(int(row[2]) for row in table)), "".join(f"{line}\n" for line in lines))
