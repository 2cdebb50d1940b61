"""Personal data replaced by placeholders, the same thing by the same placeholder everywhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.framework import RECORDS, Answer, Posed, Roles, Row, View, row_digest

if TYPE_CHECKING:
    import random

_MAIL = r"[A-Za-z0-9._-]+@[A-Za-z0-9.-]*[A-Za-z0-9]"
_ADDRESS = r"[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}"


class ConsistentRedaction:
    """κ: pseudonyms by first appearance."""

    name: ClassVar[str] = "consistent-redaction"
    rarity: ClassVar[int] = 3
    needs: ClassVar[Mapping[str, Roles]] = {RECORDS: frozenset({"key", "text"})}

    def pose(self, rng: random.Random, view: View) -> Posed:
        """What the placeholders look like."""
        table, words = view.table(), view.words
        key, text = table.column("key"), table.column("text")
        mail, address = rng.choice((("person", "host"), ("mail", "ip"), ("user", "addr")))
        left, right = rng.choice(("<>", "[]", "{}"))
        request = (
            f"The {text.words} of its {words.records} has to go to a supplier without personal data. Write `{{out}}`: "
            f"no header, one line for each of the {words.records}, ascending by {key.words} (byte value), the "
            f"{key.words}, a tab, and the {text.words} in which every e-mail address (anything that matches "
            f"`{_MAIL}`) is replaced by `{left}{mail}-N{right}` and every IPv4 address (`{_ADDRESS}`) by "
            f"`{left}{address}-N{right}`, both as long as they can be. The N of either kind counts from 1 in the "
            "order in which a value first appears in the output, top to bottom and left to right; the same value "
            "always gets the same N, and e-mail addresses that differ in case alone are the same. Nothing else "
            "changes, and nothing is quoted."
        )
        solution = f"""
sort -t "$(printf '\\t')" -k{table.at("key")},{table.at("key")} "$W/records.tsv" | cut -f{table.at("key")},{table.at("text")} > "$W/texts"
python3 - "$W/texts" "$OUT" <<'PY'
import re, sys
form = re.compile(r"({_MAIL})|({_ADDRESS})")
seen = {{"{mail}": {{}}, "{address}": {{}}}}
def placeholder(found):
    kind = "{mail}" if found.group(1) else "{address}"
    number = seen[kind].setdefault(found.group().lower(), len(seen[kind]) + 1)
    return "{left}" + kind + "-" + str(number) + "{right}"
with open(sys.argv[1], encoding="utf-8", newline="\\n") as lines, open(sys.argv[2], "w", encoding="utf-8", newline="\\n") as out:
    for line in lines:
        key, _, text = line.rstrip("\\n").partition("\\t")
        out.write(key + "\\t" + form.sub(placeholder, text) + "\\n")
PY
"""
        units = {
            "lines": 'lines = load_lines(out)\nsame_rows([line.partition("\\t")[0] for line in lines], want.keys, "the first column")',
            "nothing_left": 'import re\ntext = "\\n".join(line.partition("\\t")[2] for line in load_lines(out))\n'
            'same(len(load_lines(out)), len(want.keys), "the number of lines")\n'
            f'same(re.findall(r"{_MAIL}", text), [], "e-mail addresses that are left")\n'
            f'same(re.findall(r"{_ADDRESS}", text), [], "IPv4 addresses that are left")',
            "placeholders": f'import re\nfound = re.findall(r"{re.escape(left)}(?:{mail}|{address})-[0-9]+{re.escape(right)}", read_text(out))\n'
            'same(len(found), want.replaced, "the number of placeholders")\nsame(len(set(found)), want.different, "different placeholders")',
            "bytes": 'same_rows(load_lines(out), want.lines, "the lines of " + out)',
        }
        answers = {lot: _answer(rows, (mail, address), (left, right)) for lot, rows in table.rows.items()}
        return Posed(
            file=f"{text.name.replace('_', '-')}-redacted.tsv",
            request=request,
            solution=solution,
            answers=answers,
            units=units,
            figure="size of {out} in bytes",
            command="[ -f {out} ] && wc -c < {out}",
        )


def _answer(rows: tuple[Row, ...], kinds: tuple[str, str], brackets: tuple[str, str]) -> Answer:
    seen: dict[str, dict[str, int]] = {kind: {} for kind in kinds}
    found: list[str] = []

    def placeholder(match: re.Match[str]) -> str:
        kind = kinds[0] if match.group(1) else kinds[1]
        place = seen[kind].setdefault(match.group().lower(), len(seen[kind]) + 1)
        found.append(f"{brackets[0]}{kind}-{place}{brackets[1]}")
        return found[-1]

    form = re.compile(f"({_MAIL})|({_ADDRESS})")
    ordered = sorted(rows, key=lambda row: str(row["key"]))
    lines = [f"{row['key']}\t{form.sub(placeholder, str(row['text']))}" for row in ordered]
    content = "".join(f"{line}\n" for line in lines)
    expected = {
        "keys": [row_digest(str(row["key"])) for row in ordered],
        "replaced": len(found),
        "different": len(set(found)),
        "lines": [row_digest(line) for line in lines],
    }
    return Answer(expected, str(len(content.encode())), content)
