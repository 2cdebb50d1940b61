"""A captured process table with numeric users and kernel threads, and a memory account beside it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.drawing import epoch, listed, measured, network, remark, skewed, summed
from agents.embedded.library.framework import BASELINE, RECORDS, SECOND, Column, Material, Row, Table, Words
from agents.embedded.library.story import people
from agents.embedded.library.wording import number

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from agents.embedded.library.framework import Roles
    from agents.embedded.library.story import Organisation

_HOSTS = ("web", "db", "mq", "batch", "cache", "auth", "build", "files")
_COMMANDS = (
    ("nginx", "/usr/sbin/nginx -g daemon off; --tag {code}"), ("postgres", "/usr/lib/postgresql/15/bin/postgres: writer {ip}"),
    ("sshd", "/usr/sbin/sshd -D {ip}"), ("python3", "/usr/bin/python3 /srv/app/worker.py --notify {mail} --ref {code}"),
    ("java", "/opt/jdk/bin/java -Xmx{num}m -jar /srv/ship.jar --for {mail}"), ("redis-server", "/usr/bin/redis-server {ip}:6379"),
    ("rsync", "/usr/bin/rsync --server {ip} {code}"), ("bash", "/bin/bash -c echo {code}"), ("node", "/usr/local/bin/node /srv/ui/main.js"),
    ("cron", "/usr/sbin/cron -f"), ("perl", "/usr/bin/perl /opt/mrtg/run.pl {mail} {mail}"),
)  # fmt: skip
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_READER = r"""
awk 'NR == FNR { split($0, entry, ":"); user[entry[3]] = entry[1]; next }
  FNR == 1 || $11 ~ /^\[/ { next }
  {
    who = ($1 in user) ? user[$1] : $1
    month = sprintf("%02d", (index("JanFebMarAprMayJunJulAugSepOctNovDec", $7) + 2) / 3)
    program = $11; sub(/:$/, "", program); sub(/.*\//, "", program)
    line = $0; for (i = 1; i <= 10; i++) sub(/^ *[^ ]+ +/, "", line)
    printf "%s\t%s\t%s\t%s\t%s\t%s-%s-%02d %s\t%s\t%s\n", $2, who, substr($4, 1, 1), program, $5, $10, month, $8, $9, line, $3
  }' "$S/passwd" "$S/snapshots/$LOT/ps.txt" | sort > "$W/ps"
paste <(cut -f1-5 "$W/ps") <(cut -f6 "$W/ps" | date -u -f - +%s) <(cut -f7,8 "$W/ps") > "$W/records.tsv"
"""


class ProcessSnapshots:
    """σ: what `ps` printed on a few hosts at a bad moment."""

    name: ClassVar[str] = "process-snapshots"
    rarity: ClassVar[int] = 2
    tools: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[Words] = Words(
        record="process",
        records="processes",
        lot="host",
        lots="hosts",
        task="process-table",
        heading="Process tables of the hosts",
        heading_in_text="the process tables of the hosts",
        errand="the hosts ran out of memory and this is all that was saved",
    )
    roles: ClassVar[Mapping[str, Roles]] = {
        RECORDS: frozenset({"key", "entity", "category", "group", "quantity", "time", "text", "ref"}),
        SECOND: frozenset({"key", "quantity"}),
        BASELINE: frozenset({"key"}),
    }

    def material(self, rng: random.Random, organisation: Organisation) -> Material:
        """Five hosts with some fifty processes each."""
        lots = tuple(f"{name}{rng.randint(1, 9)}" for name in sorted(rng.sample(_HOSTS, 5)))
        users = {name: 1000 + 3 * place for place, name in enumerate(people(rng, 6))}
        files: dict[str, bytes] = {"passwd": _passwd(users)}
        rows: dict[str, dict[str, tuple[Row, ...]]] = {name: {} for name in self.roles}
        for lot in lots:
            processes = _processes(rng, list(users), organisation)
            rows[RECORDS][lot] = tuple(sorted(processes, key=lambda row: str(row["key"])))
            files[f"snapshots/{lot}/ps.txt"] = _ps(rng, rng.sample(processes, len(processes)), users)
            rows[SECOND][lot] = measured(
                rng, summed(processes, "key"), [str(rng.randint(40_000, 60_000)) for _ in range(3)]
            )
            memory = "".join(f"pid={row['key']} pss={row['quantity']}kB\n" for row in rows[SECOND][lot])
            rows[BASELINE][lot] = listed(
                rng, (row["group"] for row in processes), ["chronyd", "exim4", "snmpd"], rng.randint(2, 4)
            )
            allowed = "".join(f"{row['key']}\n" for row in rng.sample(rows[BASELINE][lot], len(rows[BASELINE][lot])))
            files |= {
                f"snapshots/{lot}/memory.txt": memory.encode(),
                f"allowed/{lot}.txt": f"# programs\n{allowed}".encode(),
            }
        layout = (
            "`{root}/snapshots/<code>/ps.txt` is the process table of a host with the columns `USER PID PPID STAT RSS "
            "STARTED COMMAND`; `STARTED` has five parts (`Tue May 14 08:03:22 2024`, UTC) and `COMMAND` is the rest "
            "of the line. `USER` is a name or a number, which `{root}/passwd` translates. Kernel threads, whose "
            "command is in square brackets, do not count."
        )
        return Material(lots, files, layout, _tables(rows))


def _passwd(users: Mapping[str, int]) -> bytes:
    lines = ["root:x:0:0:root:/root:/bin/bash", "www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin"]
    lines += [f"{name}:x:{uid}:{uid}::/home/{name}:/bin/bash" for name, uid in users.items()]
    return "".join(f"{line}\n" for line in lines).encode()


def _processes(rng: random.Random, users: list[str], organisation: Organisation) -> list[Row]:
    """A forest: every process hangs on an earlier one, or on PID 1, which the table does not have."""
    addresses = [network(rng) for _ in range(6)]
    # Five digits each, so that the order by number and by byte value is the same.
    pids = sorted(rng.sample(range(10_000, 32_000), rng.randint(48, 60)))
    rows: list[Row] = []
    for place, pid in enumerate(pids):
        program, template = rng.choice(_COMMANDS)
        parent = 1 if place == 0 or rng.random() < 0.25 else rng.choice(pids[max(0, place - 12) : place])
        rows.append({
            "key": str(pid),
            "entity": rng.choice(["root", "www-data", *users]),
            "category": rng.choice("SSSRDZT"),
            "group": program,
            "quantity": skewed(rng, 300, 900_000),
            "time": epoch(2024, 5, 14) + rng.randrange(40_000) + place * 40,
            "text": remark(rng, template, users, organisation.domain, addresses),
            "ref": str(parent),
        })  # fmt: skip
    return rows


def _ps(rng: random.Random, processes: list[Row], users: Mapping[str, int]) -> bytes:
    lines = [f"{'USER':<10} {'PID':>7} {'PPID':>7} STAT {'RSS':>8} {'STARTED':>24} COMMAND"]
    for place, row in enumerate(processes):
        name = str(row["entity"])
        who = str(users[name]) if name in users and (len(name) > 8 or rng.random() < 0.3) else name
        state = f"{row['category']}{rng.choice(('', 's', 'l', '+', '<'))}"
        lines.append(
            f"{who:<10} {row['key']:>7} {row['ref']:>7} {state:<4} {row['quantity']:>8} "
            f"{_started(number(row['time']))} {row['text']}"
        )
        if place % 9 == 4:
            lines.append(
                f"{'root':<10} {rng.randint(100, 900):>7} {2:>7} I<   {0:>8} {_started(epoch(2024, 5, 1))} "
                f"[kworker/{place % 8}:1-events]"
            )
    return "".join(f"{line}\n" for line in lines).encode()


def _started(moment: int) -> str:
    at = datetime.fromtimestamp(moment, UTC)
    return f"{_DAYS[at.weekday()]} {_MONTHS[at.month - 1]} {at.day:2d} {at:%H:%M:%S %Y}"


def _tables(rows: Mapping[str, Mapping[str, tuple[Row, ...]]]) -> dict[str, Table]:
    pid = Column("key", "pid", "PID")
    return {
        RECORDS: Table(
            RECORDS,
            (
                pid,
                Column("entity", "user", "user"),
                Column("category", "state", "state"),
                Column("group", "program", "program"),
                Column("quantity", "rss_kb", "resident size", "kB"),
                Column("time", "started", "start time"),
                Column("text", "command", "command line"),
                Column("ref", "ppid", "PPID"),
            ),
            rows[RECORDS],
            "The state is the first letter of `STAT`, the resident size is `RSS`, and the program is the first word "
            "of the command without its folders and without a colon at its end. PIDs are written out as text.",
            _READER,
        ),
        SECOND: Table(
            SECOND,
            (pid, Column("quantity", "pss_kb", "proportional sizes", "kB")),
            rows[SECOND],
            "The kernel's account of the same moment is `{root}/snapshots/<code>/memory.txt`, lines like `pid=12345 "
            "pss=884kB`, one or more per process.",
            'sed -E \'s/pid=([0-9]+) pss=([0-9]+)kB/\\1\\t\\2/\' "$S/snapshots/$LOT/memory.txt" > "$W/second.tsv"',
        ),
        BASELINE: Table(
            BASELINE,
            (Column("key", "program", "program"),),
            rows[BASELINE],
            "`{root}/allowed/<code>.txt` lists the programs that should run on a host, one a line after a comment.",
            'grep -v \'^#\' "$S/allowed/$LOT.txt" | sort -u > "$W/baseline.tsv"',
            join="group",
        ),
    }
