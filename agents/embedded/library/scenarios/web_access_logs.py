"""Rotated access logs of web front ends: two line formats, changing zones, gzip, damaged lines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.drawing import (
    checksum_list,
    checksum_table,
    epoch,
    listed,
    network,
    remark,
    skewed,
    visits,
)
from agents.embedded.library.framework import BASELINE, MANIFEST, RECORDS, REJECTS, Column, Material, Row, Table, Words
from agents.embedded.library.packing import gzipped
from agents.embedded.library.story import people

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from agents.embedded.library.framework import Roles
    from agents.embedded.library.story import Organisation

_SITES = ("ams", "fra", "lhr", "cdg", "mad", "waw", "arn", "dub", "zrh", "vie")
_TARGETS = ("/", "/status", "/docs/{code}.pdf", "/docs/{code}.pdf?for={mail}", "/login?next=/orders", "/orders/{num}",
            "/api/v2/items?page={num}", "/api/v2/ship?ref={code}&notify={mail}", "/img/{num}.webp", "/proxy?via={ip}&ref={code}",
            "/api/v2/who?mail={mail}&seen={ip}", "/track/{code}/events")  # fmt: skip
_AGENTS = ("Mozilla/5.0 (X11; Linux x86_64) Firefox/124.0", "curl/8.5.0", 'Mozilla/5.0 (iPhone; like \\"Gecko\\") Safari/604.1',
           "okhttp/4.12.0", "python-requests/2.31", "-")  # fmt: skip
_FILES = 8

_READER = r"""
python3 - "$S/logs/$LOT" "$W" <<'PY'
import glob, gzip, os, re, sys
from datetime import datetime
folder, work = sys.argv[1:]
form = re.compile(r'^(?:\S+:\d+ )?(\S+) \S+ \S+ \[([^\]]+)\] "((?:[^"\\]|\\.)*)" (\S+) (\S+) "(?:[^"\\]|\\.)*" "(?:[^"\\]|\\.)*" rt=\S+ id=(\S+)$')
def age(path):
    number = re.search(r"\.log\.(\d+)", path)
    return int(number.group(1)) if number else 0
records, verdicts = [], []
for path in sorted(glob.glob(folder + "/access.log*"), key=age, reverse=True):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as stream:
        for count, line in enumerate(stream, 1):
            line, verdict = line.rstrip("\n"), "ok"
            found = form.match(line)
            if not re.search(r" id=\S+$", line):
                verdict = "truncated"
            elif len(found.group(3).split(" ")) != 3:
                verdict = "request"
            elif not re.fullmatch(r"[1-5]\d\d", found.group(4)):
                verdict = "status"
            else:
                client, when, request, status, size, key = found.groups()
                moment = int(datetime.strptime(when, "%d/%b/%Y:%H:%M:%S %z").timestamp())
                method, target, _ = request.split(" ")
                records.append((key, client, status, method, 0 if size == "-" else size, moment, target))
            verdicts.append((os.path.basename(path), count, verdict))
for name, rows in (("records", records), ("rejects", verdicts)):
    with open(f"{work}/{name}.tsv", "w", encoding="utf-8") as out:
        out.writelines("\t".join(map(str, row)) + "\n" for row in rows)
PY
"""


class WebAccessLogs:
    """σ: the access logs of an organisation's edge hosts."""

    name: ClassVar[str] = "web-access-logs"
    rarity: ClassVar[int] = 1
    tools: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[Words] = Words(
        record="request",
        records="requests",
        lot="edge host",
        lots="edge hosts",
        task="access-log",
        heading="Access logs of the edge hosts",
        heading_in_text="the access logs of the edge hosts",
        errand="capacity has to be booked and nobody trusts the dashboards any more",
    )
    roles: ClassVar[Mapping[str, Roles]] = {
        RECORDS: frozenset({"key", "entity", "category", "group", "quantity", "time", "text", "story", "spending"}),
        REJECTS: frozenset({"file", "line", "reason"}),
        BASELINE: frozenset({"key"}),
        MANIFEST: frozenset({"key", "listed", "actual"}),
    }

    def material(self, rng: random.Random, organisation: Organisation) -> Material:
        """Five hosts, eight rotated files each."""
        lots = tuple(f"edge-{site}" for site in sorted(rng.sample(_SITES, 5)))
        files: dict[str, bytes] = {}
        records: dict[str, tuple[Row, ...]] = {}
        verdicts: dict[str, tuple[Row, ...]] = {}
        known: dict[str, tuple[Row, ...]] = {}
        sums: dict[str, tuple[Row, ...]] = {}
        for lot in lots:
            rows = _requests(rng, organisation)
            folder, verdicts[lot] = _laid_out(rng, rows, organisation)
            records[lot] = tuple(rows)
            sums_file, sums[lot] = checksum_list(rng, folder, [f"access.log.{_FILES + rng.randint(0, 3)}.gz"])
            listing, known[lot] = _known_clients(rng, rows)
            files |= {f"logs/{lot}/{name}": content for name, content in folder.items()}
            files |= {f"logs/{lot}/SHA256SUMS": sums_file, f"known-clients/{lot}.txt": listing}
        layout = (
            "The edge hosts' access logs were copied to `{root}/logs/<code>/`, one folder per host: `access.log` is "
            "the newest file, `access.log.1` the one before it, and from `access.log.2.gz` on they are gzipped. Lines "
            "have the "
            'form `CLIENT - USER [DAY/MON/YEAR:HH:MM:SS ZONE] "METHOD TARGET PROTOCOL" STATUS BYTES "REFERER" "AGENT" '
            "rt=SECONDS id=ID`; the older daemon put `VHOST:PORT ` in front of that. A double quote inside a quoted "
            'field is written `\\"`, a missing size `-`, which is 0 bytes. The clocks changed in between, so mind '
            "each line's zone."
        )
        return Material(lots, files, layout, _tables(records, verdicts, known, sums))


def _requests(rng: random.Random, organisation: Organisation) -> list[Row]:
    clients = [network(rng) for _ in range(rng.randint(11, 15))]
    names = people(rng, 7)
    start = epoch(2024, 3, 28)
    rows: list[Row] = []
    for moment, client in visits(rng, clients, start, start + 5 * 86400, rng.randint(56, 70)):
        status = rng.choice(("200", "200", "200", "200", "304", "301", "404", "404", "503", "500"))
        rows.append({
            "key": f"{rng.getrandbits(40):010x}",
            "entity": client,
            "category": status,
            "group": rng.choice(("GET", "GET", "GET", "POST", "POST", "HEAD", "PUT")),
            "quantity": 0 if status == "304" else skewed(rng, 180, 90_000),
            "time": moment,
            "text": remark(rng, rng.choice(_TARGETS), names, organisation.domain, clients),
        })  # fmt: skip
    return rows


def _line(rng: random.Random, row: Row, old: bool, domain: str) -> str:
    moment = int(row["time"])
    # Central Europe went over to summer time at 01:00 UTC on 31 March 2024.
    zone = timezone(timedelta(hours=2 if moment >= epoch(2024, 3, 31, 1) else 1))
    if rng.random() < 0.2:  # one line in five comes through a balancer that runs on UTC
        zone = UTC
    when = datetime.fromtimestamp(moment, zone).strftime("%d/%b/%Y:%H:%M:%S %z")
    size = "-" if row["quantity"] == 0 else row["quantity"]
    front = f"www.{domain}:443 " if old else ""
    referer = rng.choice(("-", f"https://www.{domain}/", f'https://www.{domain}/search?q=\\"crate\\"'))
    return (
        f'{front}{row["entity"]} - {rng.choice(("-", "-", "svc"))} [{when}] "{row["group"]} {row["text"]} HTTP/1.1" '
        f'{row["category"]} {size} "{referer}" "{rng.choice(_AGENTS)}" rt={rng.randint(1, 900) / 1000:.3f} id={row["key"]}'
    )


def _damaged(rng: random.Random, line: str) -> tuple[str, str]:
    """A line that does not count, and why."""
    reason = rng.choice(("truncated", "request", "status"))
    if reason == "truncated":
        return line[: rng.randint(30, line.index(" rt="))], reason
    head, request, rest = line.split('"', 2)
    if reason == "request":
        noise = rng.choice(("-", "\\x16\\x03\\x01", "GET /"))
        return f'{head}"{noise}"{rest}', reason
    _, status, others = rest.split(" ", 2)
    wrong = rng.choice(("000", "-", f"{status[0]}OO"))
    return f'{head}"{request}" {wrong} {others}', reason


def _laid_out(
    rng: random.Random, rows: list[Row], organisation: Organisation
) -> tuple[dict[str, bytes], tuple[Row, ...]]:
    """The rotated files of one host, and the verdict on every line, oldest file first."""
    cuts = sorted(rng.sample(range(4, len(rows) - 3, 3), _FILES - 1))
    folder: dict[str, bytes] = {}
    verdicts: list[Row] = []
    for place, (first, last) in enumerate(zip([0, *cuts], [*cuts, len(rows)], strict=True)):
        age = _FILES - 1 - place
        name = f"access.log.{age}.gz" if age > 1 else f"access.log.{age}" if age else "access.log"
        lines: list[tuple[str, str]] = []
        for row in rows[first:last]:
            line = _line(rng, row, age > 4, organisation.domain)  # the daemon was replaced then
            lines.append((line, "ok"))
            if rng.random() < 0.12:  # about one damaged line in eight
                lines.append(_damaged(rng, line))
        text = "".join(f"{line}\n" for line, _ in lines).encode()
        folder[name] = gzipped(text) if age > 1 else text
        verdicts += [{"file": name, "line": count, "reason": reason} for count, (_, reason) in enumerate(lines, 1)]
    return folder, tuple(verdicts)


def _known_clients(rng: random.Random, rows: list[Row]) -> tuple[bytes, tuple[Row, ...]]:
    known = listed(rng, (row["entity"] for row in rows), [network(rng) for _ in range(3)], rng.randint(3, 5))
    lines = ["# clients seen last quarter"]
    lines += [str(row["key"]) + rng.choice(("", "", "  # monitoring", " ")) for row in rng.sample(known, len(known))]
    return ("\n".join(lines) + "\n").encode(), known


def _tables(
    records: dict[str, tuple[Row, ...]],
    verdicts: dict[str, tuple[Row, ...]],
    known: dict[str, tuple[Row, ...]],
    sums: dict[str, tuple[Row, ...]],
) -> dict[str, Table]:
    return {
        RECORDS: Table(
            RECORDS,
            (
                Column("key", "id", "id"),
                Column("entity", "client", "client address"),
                Column("category", "status", "status"),
                Column("group", "method", "method"),
                Column("quantity", "bytes", "response size", "bytes"),
                Column("time", "time", "time"),
                Column("text", "target", "target"),
            ),
            records,
            "Damaged lines are no requests and are left out of everything: lines that break off before their `id=`, "
            "lines whose quoted request is not three words, and lines whose status is not three digits from 100 to "
            "599.",
            _READER,
        ),
        REJECTS: Table(
            REJECTS,
            (
                Column("file", "file", "file name"),
                Column("line", "line", "line number"),
                Column("reason", "reason", "reason"),
            ),
            verdicts,
            "Some lines are damaged. The first of these reasons that applies is the line's: `truncated` (it does not "
            "end in ` id=ID`), `request` (the quoted request is not exactly three words separated by single spaces), "
            "`status` (the status is not three digits from 100 to 599). All other lines are fine. Files are taken by "
            "name without the folder (`access.log.3.gz`), lines are counted from 1 in the unpacked file.",
            _READER,
        ),
        BASELINE: Table(
            BASELINE,
            (Column("key", "client", "client address"),),
            known,
            "`{root}/known-clients/<code>.txt` lists the client addresses that the host saw last quarter, one a line; "
            "`#` begins a comment and blanks around an address mean nothing.",
            "sed -e 's/#.*//' -e 's/[[:blank:]]//g' -e '/^$/d' \"$S/known-clients/$LOT.txt\" | sort -u > "
            '"$W/baseline.tsv"',
            join="entity",
        ),
        MANIFEST: checksum_table(sums, "logs/$LOT"),
    }
