"""JSON-lines telemetry of sensors: clocks in several notations, readings sent again, broken lines, gaps."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.drawing import checksum_list, checksum_table, epoch, latest, listed
from agents.embedded.library.framework import (
    BASELINE,
    MANIFEST,
    RECORDS,
    REJECTS,
    VERSIONS,
    Column,
    Material,
    Row,
    Table,
    Words,
)
from agents.embedded.library.wording import number

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from agents.embedded.library.framework import Roles
    from agents.embedded.library.story import Organisation

_PLANTS = ("pumpworks", "kiln-2", "cold-store", "turbine-hall", "tank-farm", "greenhouse", "paint-shop", "boiler-house")
_KINDS = ("flow", "press", "temp", "level", "volt")

_READER = r"""
python3 - "$S/telemetry/$LOT" "$W" <<'PY'
import glob, json, os, sys
from datetime import datetime
folder, work = sys.argv[1:]
def verdict(text):
    try:
        line = json.loads(text)
    except ValueError:
        return None, "syntax"
    if any(name not in line for name in ("sensor", "seq", "at", "value", "state")):
        return None, "incomplete"
    if isinstance(line["value"], bool) or not isinstance(line["value"], (int, float)):
        return None, "value"
    return line, "ok"
def moment(at):
    if isinstance(at, str):
        return int(datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp())
    return at // 1000 if at > 10 ** 11 else at
versions, verdicts, latest = [], [], {}
for path in sorted(glob.glob(folder + "/chunk-*.jsonl")):
    for count, text in enumerate(open(path, encoding="utf-8"), 1):
        line, reason = verdict(text)
        verdicts.append((os.path.basename(path), count, reason))
        if line is None:
            continue
        key = f"{line['sensor']}#{line['seq']}"
        row = (key, line.get("try", 0), line["sensor"], line["state"], line["sensor"].split("-")[0], round(line["value"] * 10), moment(line["at"]))
        versions.append(row)
        if key not in latest or row[1] >= latest[key][1]:
            latest[key] = row
tables = {
    "versions": [row[:6] for row in versions],
    "records": [(key, *row[2:]) for key, row in sorted(latest.items())],
    "rejects": verdicts,
}
for name, rows in tables.items():
    with open(f"{work}/{name}.tsv", "w", encoding="utf-8") as out:
        out.writelines("\t".join(map(str, row)) + "\n" for row in rows)
PY
"""


class SensorTelemetry:
    """σ: what the loggers of a few plants sent in."""

    name: ClassVar[str] = "sensor-telemetry"
    rarity: ClassVar[int] = 2
    tools: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[Words] = Words(
        record="reading",
        records="readings",
        lot="plant",
        lots="plants",
        task="telemetry",
        heading="Telemetry of the plants",
        heading_in_text="the telemetry of the plants",
        errand="the alarm thresholds are to be set anew from what the loggers really sent",
    )
    roles: ClassVar[Mapping[str, Roles]] = {
        RECORDS: frozenset({"key", "entity", "category", "group", "quantity", "time", "story", "spending"}),
        VERSIONS: frozenset({"key", "revision", "entity", "category", "quantity"}),
        REJECTS: frozenset({"file", "line", "reason"}),
        BASELINE: frozenset({"key"}),
        MANIFEST: frozenset({"key", "listed", "actual"}),
    }

    def material(self, rng: random.Random, organisation: Organisation) -> Material:  # noqa: ARG002 - machines name nobody
        """Five plants, nine chunks each."""
        lots = tuple(sorted(rng.sample(_PLANTS, 5)))
        files: dict[str, bytes] = {}
        rows: dict[str, dict[str, tuple[Row, ...]]] = {name: {} for name in self.roles}
        for lot in lots:
            sent = _sent(rng)
            rows[VERSIONS][lot], rows[RECORDS][lot] = tuple(sent), latest(sent)
            chunks, rows[REJECTS][lot] = _chunks(rng, sent)
            sums, rows[MANIFEST][lot] = checksum_list(rng, chunks, [f"chunk-{rng.randint(10, 19)}.jsonl"])
            register, rows[BASELINE][lot] = _register(rng, rows[RECORDS][lot])
            files |= {f"telemetry/{lot}/{name}": content for name, content in chunks.items()}
            files |= {f"telemetry/{lot}/SHA256SUMS": sums, f"register/{lot}.json": register}
        layout = (
            "The loggers of the plants leave JSON lines in `{root}/telemetry/<code>/chunk-NN.jsonl`: `sensor`, `seq` "
            "(a running number per sensor), `at`, `value`, `state`, and `try` where a reading was sent again. `at` "
            "comes in three notations: seconds since the epoch, milliseconds since the epoch (thirteen digits, "
            "thousandths are cut off), or an ISO time with its offset. Values have one decimal; results are in whole "
            "tenths (`20.5` is 205). A reading's id is written `sensor#seq`. What stands before the first hyphen of a "
            "sensor's name is its kind."
        )
        return Material(lots, files, layout, _tables(rows))


def _sent(rng: random.Random) -> list[Row]:
    """Readings in the order of arrival, those sent again somewhere behind their first try."""
    sensors = sorted({f"{rng.choice(_KINDS)}-{rng.randint(10, 99)}" for _ in range(6)})
    start = epoch(2024, 5, 6) + rng.randrange(7200)
    arrivals: list[tuple[int, Row]] = []
    for sensor in sensors:
        now, level, state = start + rng.randrange(600), rng.randint(80, 900), "ok"
        for seq in range(rng.randint(1, 90), 1000)[: rng.randint(7, 10)]:
            level = max(5, level + rng.randint(-60, 70))
            state = rng.choice((state, state, "ok", "drift", "fault"))
            row: Row = {
                "key": f"{sensor}#{seq}", "revision": 0, "entity": sensor, "category": state, "group": sensor.split("-")[0],
                "quantity": level, "time": now,
            }  # fmt: skip
            arrivals.append((now, row))
            for again in range(1, rng.choice((1, 1, 1, 2, 3))):
                repeated = {
                    **row,
                    "revision": again,
                    "quantity": max(5, level + rng.randint(-9, 9)),
                    "category": rng.choice((state, "ok")),
                }
                arrivals.append((now + rng.randint(-200, 1500) * again, repeated))
            now += rng.choice((300, 300, 300, 301, 600, 1500)) + rng.randint(0, 9)
    return [
        row for _, row in sorted(arrivals, key=lambda pair: (pair[0], str(pair[1]["key"]), number(pair[1]["revision"])))
    ]


def _chunks(rng: random.Random, sent: list[Row]) -> tuple[dict[str, bytes], tuple[Row, ...]]:
    cuts = [0, *sorted(rng.sample(range(4, len(sent) - 3), 8)), len(sent)]
    chunks: dict[str, bytes] = {}
    verdicts: list[Row] = []
    for place, (first, last) in enumerate(pairwise(cuts), 1):
        name, lines = f"chunk-{place:02d}.jsonl", []
        for row in sent[first:last]:
            lines.append((_line(rng, row), "ok"))
            if rng.random() < 0.1:  # one line in eleven is broken
                lines.append(_broken(rng, row))
        chunks[name] = "".join(f"{line}\n" for line, _ in lines).encode()
        verdicts += [{"file": name, "line": count, "reason": reason} for count, (_, reason) in enumerate(lines, 1)]
    return chunks, tuple(verdicts)


def _fields(rng: random.Random, row: Row) -> dict[str, object]:
    moment = number(row["time"])
    zone = timezone(timedelta(hours=rng.choice((-5, 1, 2, 9)), minutes=rng.choice((0, 30))))
    at: object = rng.choice((
        moment,
        moment * 1000 + rng.randrange(1000),
        datetime.fromtimestamp(moment, zone).isoformat(),
        datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    ))  # fmt: skip
    sensor, seq = str(row["key"]).split("#")
    fields = {
        "sensor": sensor,
        "seq": int(seq),
        "at": at,
        "value": number(row["quantity"]) / 10,
        "state": row["category"],
    }
    return {**fields, "try": row["revision"]} if row["revision"] else fields


def _line(rng: random.Random, row: Row) -> str:
    return json.dumps(_fields(rng, row), separators=rng.choice(((",", ":"), (", ", ": "))))


def _broken(rng: random.Random, row: Row) -> tuple[str, str]:
    fields = _fields(rng, row)
    match rng.choice(("syntax", "incomplete", "value")):
        case "syntax":
            return json.dumps(fields)[: rng.randint(20, 45)], "syntax"
        case "incomplete":
            del fields[rng.choice(("sensor", "at", "value", "state"))]
            return json.dumps(fields), "incomplete"
        case _:
            return json.dumps({**fields, "value": rng.choice((None, "n/a", "12.0", True))}), "value"


def _register(rng: random.Random, readings: tuple[Row, ...]) -> tuple[bytes, tuple[Row, ...]]:
    """The plant's register of sensors: retired ones are in it too but do not count."""
    strangers = [f"{rng.choice(_KINDS)}-{rng.randint(10, 99)}" for _ in range(3)]
    rows = listed(rng, (row["entity"] for row in readings), strangers, 2)
    retired = min({str(row["entity"]) for row in readings} - {str(row["key"]) for row in rows})
    entries = [{"name": row["key"], "retired": False} for row in rows] + [{"name": retired, "retired": True}]
    rng.shuffle(entries)
    return (json.dumps({"sensors": entries}, indent=1) + "\n").encode(), rows


def _tables(rows: Mapping[str, Mapping[str, tuple[Row, ...]]]) -> dict[str, Table]:
    key, sensor = Column("key", "reading", "id"), Column("entity", "sensor", "sensor")
    state, kind = Column("category", "state", "state"), Column("group", "kind", "kind of sensor")
    value = Column("quantity", "tenths", "value", "tenths")
    broken = (
        "lines that are not JSON, lines that lack one of `sensor`, `seq`, `at`, `value` and `state`, and lines whose "
        "`value` is not a JSON number"
    )
    return {
        RECORDS: Table(
            RECORDS,
            (key, sensor, state, kind, value, Column("time", "at", "time")),
            rows[RECORDS],
            f"Broken lines do not count: {broken}. A reading (same `sensor` and `seq`) that was sent more than once "
            "is one reading: the highest `try` wins, a missing `try` is 0.",
            _READER,
        ),
        VERSIONS: Table(
            VERSIONS,
            (key, Column("revision", "try", "`try`"), sensor, state, kind, value),
            rows[VERSIONS],
            f"Broken lines do not count: {broken}. A reading that was not acknowledged is sent again with the same "
            "`sensor` and `seq` and another `try` (a missing `try` is 0); chunks are taken in the order of their "
            "names.",
            _READER,
        ),
        REJECTS: Table(
            REJECTS,
            (
                Column("file", "file", "file name"),
                Column("line", "line", "line number"),
                Column("reason", "reason", "reason"),
            ),
            rows[REJECTS],
            "Some lines are broken. The first of these reasons that applies is the line's: `syntax` (not JSON), "
            "`incomplete` (lacks one of `sensor`, `seq`, `at`, `value`, `state`), `value` (`value` is not a JSON "
            "number). All other lines are fine. Files are taken by name without the folder (`chunk-03.jsonl`), lines "
            "are counted from 1.",
            _READER,
        ),
        BASELINE: Table(
            BASELINE,
            (Column("key", "sensor", "sensor"),),
            rows[BASELINE],
            "The register `{root}/register/<code>.json` lists under `sensors` which sensors a plant should have; an "
            "entry with `retired` true should not be there any more and does not count as listed.",
            'python3 -c \'import json, sys\nfor s in json.load(open(sys.argv[1]))["sensors"]:\n    if not s["retired"]: '
            'print(s["name"])\' "$S/register/$LOT.json" | sort -u > "$W/baseline.tsv"',
            join="entity",
        ),
        MANIFEST: checksum_table(rows[MANIFEST], "telemetry/$LOT"),
    }
