"""Syslog from three kinds of devices: old and new format, local and absolute clocks, encoded payloads, noise."""

from __future__ import annotations

import base64
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import quote

from agents.embedded.library.drawing import epoch, listed, network, remark, skewed, visits
from agents.embedded.library.framework import BASELINE, ENCODED, RECORDS, REJECTS, Column, Material, Row, Table, Words
from agents.embedded.library.story import people
from agents.embedded.library.wording import iso, number

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from agents.embedded.library.framework import Roles
    from agents.embedded.library.story import Organisation

_SITES = ("basel", "bergen", "cork", "gdansk", "graz", "leuven", "malmo", "porto", "turin")
_SEVERITIES = ("emerg", "alert", "crit", "err", "warning", "notice", "info", "debug")
_PROGRAMS = ("sshd", "dhcpd", "kernel", "postfix", "named", "haproxy", "cron")
_MESSAGES = ("session of {mail} from {ip}", "{ip} refused, see {code}", "lease for {name}", "{code} and {code} delivered to {mail}", "took over from {ip}",
             "queue is empty", "user {mail} locked ({code})")  # fmt: skip
_PAYLOADS = (
    "Zugriff verweigert für {name}",
    "naïve résumé of {code}",
    "öffne Tor {num}",
    "£{num} paid by {name}",
    "plain text, nothing else",
    "Ærø – {code}",
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_READER = r"""
python3 - "$S/syslog/$LOT" "$W" <<'PY'
import os, re, sys
from datetime import datetime, timedelta, timezone
folder, work = sys.argv[1:]
severities = "emerg alert crit err warning notice info debug".split()
forms = {
    "router.log": r"<(?P<pri>\d+)>(?P<at>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) (?P<host>\S+) (?P<program>[^\s\[:]+)(?:\[\d+\])?: (?P<text>.*)",
    "server.log": r"<(?P<pri>\d+)>1 (?P<at>\S+) (?P<host>\S+) (?P<program>\S+) \S+ \S+ (?:-|\[[^\]]*\]) (?P<text>.*)",
    "firewall.log": r"(?P<at>\d+\.\d{3}) (?P<host>\S+) (?P<program>\S+) sev=(?P<severity>\w+) msg=\"(?P<text>.*)\"",
}
def moment(name, at):
    if name == "firewall.log":
        return int(at.split(".")[0])
    if name == "server.log":
        return int(datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp())
    return int(datetime.strptime("2024 " + at, "%Y %b %d %H:%M:%S").replace(tzinfo=timezone(timedelta(hours=2))).timestamp())
records, verdicts = [], []
for name, form in sorted(forms.items()):
    for count, line in enumerate(open(os.path.join(folder, name), encoding="utf-8"), 1):
        found = re.fullmatch(form, line.rstrip("\n"))
        if not found:
            verdicts.append((name, count, "form"))
            continue
        parts = found.groupdict()
        tail = re.fullmatch(r"(.*) took=(\d+)ms ev=([0-9a-f]{8})", parts["text"])
        if not tail:
            verdicts.append((name, count, "tail"))
            continue
        if "pri" in parts and int(parts["pri"]) > 191:
            verdicts.append((name, count, "priority"))
            continue
        severity = parts.get("severity") or severities[int(parts["pri"]) % 8]
        records.append((tail.group(3), parts["host"], severity, parts["program"], tail.group(2), moment(name, parts["at"]), tail.group(1)))
        verdicts.append((name, count, "ok"))
for name, rows in (("records", sorted(records)), ("rejects", verdicts)):
    with open(f"{work}/{name}.tsv", "w", encoding="utf-8") as out:
        out.writelines("\t".join(map(str, row)) + "\n" for row in rows)
PY
"""
_PAYLOAD_READER = r"""
sed -n -E 's/^ev=([0-9a-f]{8}) enc=(.*) data=(.*)$/\1\t\2\t\3/p' "$S/payloads/$LOT.txt" | sort | while IFS="$(printf '\t')" read -r ev enc data; do
  printf '%s\t%s\t%s\n' "$ev" "$enc" "$(printf %s "$data" | od -An -v -tx1 | tr -d ' \n')"
done > "$W/encoded.tsv"
"""


class SyslogMixed:
    """σ: a site's logs, collected from devices that agree on nothing."""

    name: ClassVar[str] = "syslog-mixed"
    rarity: ClassVar[int] = 3
    tools: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[Words] = Words(
        record="event",
        records="events",
        lot="site",
        lots="sites",
        task="syslog",
        heading="System logs of the sites",
        heading_in_text="the system logs of the sites",
        errand="an incident has to be told in the right order",
    )
    roles: ClassVar[Mapping[str, Roles]] = {
        RECORDS: frozenset({"key", "entity", "category", "group", "quantity", "time", "text", "story", "spending"}),
        REJECTS: frozenset({"file", "line", "reason"}),
        BASELINE: frozenset({"key"}),
        ENCODED: frozenset({"key", "coding", "raw", "plain"}),
    }

    def material(self, rng: random.Random, organisation: Organisation) -> Material:
        """Five sites, three logs each."""
        lots = tuple(sorted(rng.sample(_SITES, 5)))
        files: dict[str, bytes] = {}
        rows: dict[str, dict[str, tuple[Row, ...]]] = {name: {} for name in self.roles}
        for lot in lots:
            events = _events(rng, lot, organisation)
            rows[RECORDS][lot] = tuple(sorted(events, key=lambda row: str(row["key"])))
            logs, rows[REJECTS][lot] = _logs(rng, events)
            payloads, rows[ENCODED][lot] = _payloads(rng, events, organisation)
            strangers = [f"{lot}-spare{place}" for place in range(1, 3)]
            rows[BASELINE][lot] = listed(rng, (row["entity"] for row in events), strangers, rng.randint(2, 3))
            hosts = "".join(f"{network(rng)}\t{row['key']}\n" for row in rows[BASELINE][lot])
            files |= {f"syslog/{lot}/{name}": content for name, content in logs.items()}
            files |= {f"payloads/{lot}.txt": payloads, f"hosts/{lot}": f"# address, host\n{hosts}".encode()}
        layout = (
            "A site's logs are in `{root}/syslog/<code>/`. `router.log` has the old format `<PRI>May  4 08:03:22 HOST "
            "PROGRAM[PID]: TEXT` (`[PID]` may be missing) with a clock on UTC+2 and no year, which is 2024; "
            "`server.log` has RFC 5424, `<PRI>1 TIME HOST PROGRAM PID ID DATA TEXT`, with an "
            'offset in the time; `firewall.log` has `SECONDS.MILLIS HOST PROGRAM sev=SEVERITY msg="TEXT"`, seconds since the epoch. Fractions of a '
            "second are cut off. The severity is PRI modulo 8 (0 `emerg`, 1 `alert`, 2 `crit`, 3 `err`, 4 `warning`, "
            "5 `notice`, 6 `info`, 7 `debug`). Every text ends in ` took=<n>ms ev=<id>` (eight hexadecimal digits), "
            "which is not part of the message."
        )
        return Material(lots, files, layout, _tables(rows))


def _events(rng: random.Random, lot: str, organisation: Organisation) -> list[Row]:
    hosts = [f"{lot}-{kind}{place}" for kind in ("rt", "sv", "fw") for place in range(1, 5)]
    staff, addresses = people(rng, 6), [network(rng) for _ in range(5)]
    start = epoch(2024, 5, 8)
    rows: list[Row] = []
    for moment, host in visits(rng, hosts, start, start + 2 * 86_400, rng.randint(58, 70)):
        rows.append({
            "key": f"{rng.getrandbits(32):08x}",
            "entity": host,
            "category": rng.choice(("err", "warning", "warning", "notice", "info", "info", "info", "crit", "debug")),
            "group": rng.choice(_PROGRAMS),
            "quantity": skewed(rng, 1, 4000),
            "time": moment,
            "text": remark(rng, rng.choice(_MESSAGES), staff, organisation.domain, addresses),
        })  # fmt: skip
    return rows


def _logs(rng: random.Random, events: list[Row]) -> tuple[dict[str, bytes], tuple[Row, ...]]:
    lines: dict[str, list[tuple[str, str]]] = {"firewall.log": [], "router.log": [], "server.log": []}
    for row in events:
        name = {"rt": "router.log", "sv": "server.log", "fw": "firewall.log"}[str(row["entity"]).split("-")[1][:2]]
        line = _line(rng, name, row)
        lines[name].append((line, "ok"))
        if rng.random() < 0.12:  # about one bad line in nine
            lines[name].append(_bad(rng, name, line))
    logs = {name: "".join(f"{line}\n" for line, _ in entries).encode() for name, entries in lines.items()}
    verdicts: list[Row] = [
        {"file": name, "line": n, "reason": reason}
        for name, entries in lines.items()
        for n, (_, reason) in enumerate(entries, 1)
    ]
    return logs, tuple(verdicts)


def _line(rng: random.Random, name: str, row: Row) -> str:
    moment, text = number(row["time"]), f"{row['text']} took={row['quantity']}ms ev={row['key']}"
    if name == "firewall.log":
        return f'{moment}.{rng.randrange(1000):03d} {row["entity"]} {row["group"]} sev={row["category"]} msg="{text}"'
    priority = rng.choice((0, 3, 4, 16, 23)) * 8 + _SEVERITIES.index(str(row["category"]))
    if name == "server.log":
        zone = timezone(timedelta(hours=rng.choice((0, 2, 5)), minutes=rng.choice((0, 30))))
        stamp = rng.choice((iso(moment), datetime.fromtimestamp(moment, zone).isoformat()))
        data = rng.choice(("-", f'[origin@32473 ip="{network(rng)}"]'))
        return f"<{priority}>1 {stamp} {row['entity']} {row['group']} {rng.choice(('-', '812'))} - {data} {text}"
    at = datetime.fromtimestamp(moment, timezone(timedelta(hours=2)))
    stamp = f"{_MONTHS[at.month - 1]} {at.day:2d} {at:%H:%M:%S}"
    return (
        f"<{priority}>{stamp} {row['entity']} {row['group']}{rng.choice(('', f'[{rng.randint(200, 9000)}]'))}: {text}"
    )


def _bad(rng: random.Random, name: str, line: str) -> tuple[str, str]:
    """A line that is no event, and the first reason that applies."""
    match rng.choice(("form", "tail", "priority")):
        case "priority" if name != "firewall.log":
            return f"<{rng.randint(192, 999)}>{line.partition('>')[2]}", "priority"
        case "tail":
            head = line.rpartition(" took=")[0]
            return head + ('"' if name == "firewall.log" else ""), "tail"
        case _:
            return rng.choice(("-- MARK --", "last message repeated 3 times", line[: rng.randint(8, 16)])), "form"


def _payloads(rng: random.Random, events: list[Row], organisation: Organisation) -> tuple[bytes, tuple[Row, ...]]:
    rows: list[Row] = []
    lines: list[str] = []
    for row in rng.sample(events, 14):
        plain = remark(rng, rng.choice(_PAYLOADS), ["anna", "jürgen", "zoë", "piña"], organisation.domain, ["10.0.0.1"])
        coding = rng.choice(("hex", "base64", "percent", "twice"))
        if coding == "twice":
            data = plain.encode().decode("iso-8859-1")
            # Some bytes of UTF-8 become control characters in Latin-1, which no log would carry; those go as hex.
            coding = coding if all(c.isprintable() for c in data) else "hex"
        match coding:
            case "hex":
                data = plain.encode().hex().upper()
            case "base64":
                data = base64.b64encode(plain.encode()).decode()
            case "percent":
                data = quote(plain, safe=" ,")
            case _:
                data = plain.encode().decode("iso-8859-1")
        lines.append(f"ev={row['key']} enc={coding} data={data}")
        rows.append({"key": row["key"], "coding": coding, "raw": data.encode().hex(), "plain": plain})
    return "".join(f"{line}\n" for line in lines).encode(), tuple(sorted(rows, key=lambda row: str(row["key"])))


def _tables(rows: Mapping[str, Mapping[str, tuple[Row, ...]]]) -> dict[str, Table]:
    event = Column("key", "ev", "event id")
    return {
        RECORDS: Table(
            RECORDS,
            (
                event,
                Column("entity", "host", "host"),
                Column("category", "severity", "severity"),
                Column("group", "program", "program"),
                Column("quantity", "took_ms", "duration", "ms"),
                Column("time", "time", "time"),
                Column("text", "message", "message"),
            ),
            rows[RECORDS],
            "Lines that are not of their file's form, whose text lacks that ending, or whose PRI is above 191 are no "
            "events.",
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
            "Some lines are no events. The first of these reasons that applies is the line's: `form` (not of its "
            "file's form), `tail` (the text does not end in ` took=<n>ms ev=<id>`), `priority` (PRI is above 191). "
            "All other lines are fine. Files are taken by name without the folder (`router.log`), lines are counted "
            "from 1.",
            _READER,
        ),
        BASELINE: Table(
            BASELINE,
            (Column("key", "host", "host"),),
            rows[BASELINE],
            "`{root}/hosts/<code>` lists the hosts that should be logging (address, tab, host; a comment on top).",
            'grep -v \'^#\' "$S/hosts/$LOT" | cut -f2 | sort -u > "$W/baseline.tsv"',
            join="entity",
        ),
        ENCODED: Table(
            ENCODED,
            (event, Column("coding", "coding", "encoding"), Column("raw", "raw", "payload")),
            rows[ENCODED],
            "Payloads of some events were kept apart, in `{root}/payloads/<code>.txt`, in lines `ev=<id> "
            "enc=<encoding> data=<text>`. `hex`, `base64` and `percent` (URL encoding) hide UTF-8; `twice` is UTF-8 "
            "that was once taken for ISO-8859-1 and encoded as UTF-8 again.",
            _PAYLOAD_READER,
        ),
    }
