"""Events of the same actor grouped into sessions by a longest pause."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.framework import RECORDS, Answer, Posed, Roles, Row, View, row_digest
from agents.embedded.library.wording import iso, number

if TYPE_CHECKING:
    import random


class SessionWindows:
    """κ: sessions with start, end, length and number of events."""

    name: ClassVar[str] = "session-windows"
    rarity: ClassVar[int] = 3
    needs: ClassVar[Mapping[str, Roles]] = {RECORDS: frozenset({"key", "entity", "time"})}

    def pose(self, rng: random.Random, view: View) -> Posed:
        """The longest pause, chosen so that it cuts some of the pauses there are."""
        table, words = view.table(), view.words
        entity = table.column("entity")
        pauses = sorted(pause for rows in table.rows.values() for pause in _pauses(rows))
        # A pause that occurs, so that "longer than" and "at least" give different answers.
        pause = max(1, pauses[int(len(pauses) * rng.uniform(0.45, 0.7))])
        least = rng.choice((2, 2, 3))
        header = f"{entity.name},start,end,seconds,count"
        first, second = sorted((table.at("entity"), table.at("time")))
        who, when = (1, 2) if first == table.at("entity") else (2, 1)
        request = (
            f"Cut its {words.records} into sessions, separately for each {entity.words}: in the order of time, one "
            f"that comes more than {pause} seconds after the one before it begins a new session (exactly {pause} "
            f"seconds does not). Write the sessions of at least {least} {words.records} to `{{out}}`, a CSV with the "
            f"header `{header}`; `start` and `end` are the times of the first and the last of them in UTC "
            "(`2024-02-29T23:59:59Z`), `seconds` is the time between the two. Rows go by `start`, then by "
            f"{entity.words}, both ascending."
        )
        solution = f"""
T="$(printf '\\t')"
cut -f{first},{second} "$W/records.tsv" | sort -t "$T" -k{who},{who} -k{when},{when}n |
  awk -F'\\t' -v e={who} -v t={when} '
    function flush() {{ if (n >= {least}) print first "\\t" who "\\t" last "\\t" n }}
    $e "" != who || $t - last > {pause} {{ flush(); n = 0; who = $e ""; first = $t }}
    {{ n++; last = $t }}
    END {{ flush() }}' | sort -t "$T" -k1,1n -k2,2 > "$W/sessions"
{{ echo '{header}'
  while IFS="$T" read -r first who last count; do
    printf '%s,%s,%s,%d,%d\\n' "$who" "$(date -u -d "@$first" +%FT%TZ)" "$(date -u -d "@$last" +%FT%TZ)" $((last - first)) "$count"
  done < "$W/sessions"
}} > "$OUT"
"""
        units = {
            "header": f'header, rows = load_table(out)\nsame(header, "{header}".split(","), "the header")\n'
            'same(len(rows), want.count, "the number of sessions")',
            "bounds": 'same_rows([row[:3] for row in load_table(out)[1]], want.bounds, "the sessions with start and end")',
            "lengths": 'rows = load_table(out)[1]\nsame(sum(int(row[3]) for row in rows), want.seconds, "the sum of seconds")\n'
            'same(sum(int(row[4]) for row in rows), want.members, "the sum of count")',
            "bytes": 'same_rows(load_lines(out), want.lines, "the lines of " + out)',
        }
        return Posed(
            file="sessions.csv",
            request=request,
            solution=solution,
            answers={lot: _answer(rows, pause, least, header) for lot, rows in table.rows.items()},
            units=units,
            figure="sum of the column `seconds` in {out}",
            command="awk -F, 'NR > 1 { s += $4 } END { if (NR) printf \"%.0f\\n\", s }' {out}",
        )


def _events(rows: tuple[Row, ...]) -> list[tuple[str, int]]:
    return sorted((str(row["entity"]), number(row["time"])) for row in rows)


def _pauses(rows: tuple[Row, ...]) -> list[int]:
    events = _events(rows)
    return [after[1] - before[1] for before, after in pairwise(events) if before[0] == after[0]]


def _answer(rows: tuple[Row, ...], pause: int, least: int, header: str) -> Answer:
    sessions: list[tuple[str, list[int]]] = []
    for who, when in _events(rows):
        if not sessions or sessions[-1][0] != who or when - sessions[-1][1][-1] > pause:
            sessions.append((who, []))
        sessions[-1][1].append(when)
    kept = sorted((times[0], who, times[-1], len(times)) for who, times in sessions if len(times) >= least)
    bounds = [[who, iso(first), iso(last)] for first, who, last, _ in kept]
    lines = [header, *(f"{who},{iso(first)},{iso(last)},{last - first},{count}" for first, who, last, count in kept)]
    seconds = sum(last - first for first, _, last, _ in kept)
    expected = {
        "count": len(kept),
        "bounds": [row_digest(bound) for bound in bounds],
        "seconds": seconds,
        "members": sum(count for *_, count in kept),
        "lines": [row_digest(line) for line in lines],
    }
    return Answer(expected, str(seconds), "".join(f"{line}\n" for line in lines))
