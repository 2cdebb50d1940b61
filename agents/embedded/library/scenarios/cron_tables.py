"""Crontabs of a few hosts: two dialects, lists, ranges, steps, and the rule about the two day fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.drawing import epoch, listed, measured, remark, summed
from agents.embedded.library.framework import BASELINE, RECORDS, SECOND, Column, Material, Row, Table, Words
from agents.embedded.library.story import people
from agents.embedded.library.wording import clock

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from agents.embedded.library.framework import Roles
    from agents.embedded.library.story import Organisation

_HOSTS = ("atlas", "borealis", "cygnus", "draco", "electra", "fornax", "gemini", "hydra", "iris")
_VERBS = (
    "rotate",
    "mirror",
    "export",
    "reindex",
    "vacuum",
    "archive",
    "notify",
    "replicate",
    "prune",
    "snapshot",
    "compact",
    "report",
)
_THINGS = ("orders", "mail", "ledger", "images", "metrics", "sessions", "backups", "wiki")
_LOCKS = ("db-main", "db-report", "tape", "uplink", "nfs")
_COMMANDS = ("/opt/jobs/run --tag {code}", "/usr/local/bin/ship --to {mail}", "flock -n /run/x.lock /opt/jobs/go {num}",
             "rsync -a {ip}:/srv/ /srv/", "curl -fsS http://{ip}/hook?ref={code}", "mailx -s {code} {mail}")  # fmt: skip
# The day that everything is about: Tuesday 14 May 2024.
_DAYS_ON = (
    "* * *",
    "* * *",
    "* * 2",
    "* * 1-5",
    "14 * *",
    "* 5 *",
    "1 * 2",
    "* * MON-WED",
    "14 1-6/2,5 6",
    "13-15 * 0",
)
_DAYS_OFF = ("* * 0", "*/2 * 2", "15 * *", "* 6 *", "1 * 7", "* * 3-6", "* 1-4 2", "1,15 * SAT")

_READER = r"""
python3 - "$S/cron/$LOT" "$W" <<'PY'
import glob, os, re, sys
folder, work = sys.argv[1:]
days = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
def values(field, low, high):
    chosen = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        for place, name in enumerate(days):
            span = span.replace(name, str(place))
        first, _, last = ("%d-%d" % (low, high) if span == "*" else span).partition("-")
        chosen.update(range(int(first), int(last or (high if step else first)) + 1, int(step or 1)))
    return chosen
rows = []
for path in sorted(glob.glob(folder + "/cron.d/*") + glob.glob(folder + "/spool/*")):
    own, note = "/spool/" in path, None
    for line in open(path, encoding="utf-8"):
        line = line.strip()
        found = re.match(r"# job: (\S+) takes=(\S+) lock=(\S+)$", line)
        if found:
            note = found.groups()
        if not line or line.startswith("#") or re.match(r"\w+ *=", line):
            continue
        fields = line.split(None, 5 if own else 6)
        user = os.path.basename(path) if own else fields[5]
        weekdays = {day % 7 for day in values(fields[4], 0, 7)}
        month_day, week_day = 14 in values(fields[2], 1, 31), 2 in weekdays
        either = not fields[2].startswith("*") and not fields[4].startswith("*")
        if 5 not in values(fields[3], 1, 12) or not (month_day or week_day if either else month_day and week_day):
            continue
        job, takes, lock = note
        hours, minutes = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?", takes).groups()
        length = int(hours or 0) * 60 + int(minutes or 0)
        for hour in values(fields[1], 0, 23):
            for minute in values(fields[0], 0, 59):
                start = hour * 60 + minute
                rows.append(("%s@%02d:%02d" % (job, hour, minute), lock, user, job, length, 1715644800 + start * 60,
                             fields[-1], start, min(1440, start + length)))
with open(work + "/records.tsv", "w", encoding="utf-8") as out:
    out.writelines("\t".join(map(str, row)) + "\n" for row in sorted(rows))
PY
"""


class CronTables:
    """σ: what the hosts were to run on one day, read off their crontabs."""

    name: ClassVar[str] = "cron-tables"
    rarity: ClassVar[int] = 3
    tools: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[Words] = Words(
        record="run",
        records="runs",
        lot="host",
        lots="hosts",
        task="cron",
        heading="Crontabs of the hosts",
        heading_in_text="the crontabs of the hosts",
        errand="jobs have been stepping on each other at night",
    )
    roles: ClassVar[Mapping[str, Roles]] = {
        RECORDS: frozenset(
            {"key", "entity", "category", "group", "quantity", "time", "text", "start", "end", "story", "spending"}
        ),
        SECOND: frozenset({"key", "quantity"}),
        BASELINE: frozenset({"key"}),
    }

    def material(self, rng: random.Random, organisation: Organisation) -> Material:
        """Five hosts with a dozen jobs each."""
        lots = tuple(sorted(rng.sample(_HOSTS, 5)))
        files: dict[str, bytes] = {}
        rows: dict[str, dict[str, tuple[Row, ...]]] = {name: {} for name in self.roles}
        users = ["root", *people(rng, 4)]
        for lot in lots:
            runs, tables = _jobs(rng, users, organisation)
            rows[RECORDS][lot] = tuple(sorted(runs, key=lambda row: str(row["key"])))
            files |= {
                f"cron/{lot}/{path}": "".join(f"{line}\n" for line in lines).encode() for path, lines in tables.items()
            }
            strangers = [f"{rng.choice(_VERBS)}-legacy", f"check-{rng.choice(_THINGS)}"]
            rows[SECOND][lot] = measured(rng, summed(runs, "group"), strangers)
            rows[BASELINE][lot] = listed(rng, (row["group"] for row in runs), strangers, rng.randint(2, 4))
            times = "".join(f"{row['key']} {row['quantity']}min\n" for row in rows[SECOND][lot])
            register = "".join(f"{row['key']:<24}{rng.choice(users)}\n" for row in rows[BASELINE][lot])
            files |= {
                f"accounting/{lot}.log": times.encode(),
                f"register/{lot}.txt": f"# job{' ' * 19}owner\n{register}".encode(),
            }
        layout = (
            "Each host's cron jobs are in `{root}/cron/<code>/`: files of `cron.d/` have the user in a sixth column "
            "before the command, files of `spool/` are named after the user and have no such column. The comment line "
            "before a job names it: `# job: NAME takes=1h5m lock=LOCK`, how long a run takes (hours, minutes or both) "
            "and the lock that it holds meanwhile. Commented-out jobs and variable settings are no jobs. The fields "
            "are minute, hour, day of the month, month, day of the week (0 and 7 are Sunday, names are allowed) with "
            "lists, ranges and `/` steps; when both day fields are restricted (neither begins with `*`), a day fits "
            "if either of them does, otherwise both must."
        )
        return Material(lots, files, layout, _tables(rows))


def _jobs(rng: random.Random, users: list[str], organisation: Organisation) -> tuple[list[Row], dict[str, list[str]]]:
    """A host's runs on the day, and its crontabs."""
    names = rng.sample([f"{verb}-{thing}" for verb in _VERBS for thing in _THINGS], rng.randint(13, 16))
    tables: dict[str, list[str]] = {"cron.d/base": ["SHELL=/bin/sh", "MAILTO=root", ""], "cron.d/site": ["# site jobs"]}
    rows: list[Row] = []
    for name in names:
        user = rng.choice(users)
        own = user != "root" and rng.random() < 0.5
        path = f"spool/{user}" if own else f"cron.d/{rng.choice(('base', 'site'))}"
        length, lock = rng.choice((2, 5, 10, 15, 25, 40, 65, 90, 125)), rng.choice(_LOCKS)
        fields, starts = _schedule(rng)
        runs_today = rng.random() < 0.8
        days = rng.choice(_DAYS_ON if runs_today else _DAYS_OFF)
        command = remark(
            rng, rng.choice(_COMMANDS), users[1:], organisation.domain, ["10.2.0.9", "10.2.7.14", "10.9.1.1"]
        )
        lines = tables.setdefault(path, [])
        lines += [
            f"# job: {name} takes={_takes(length)} lock={lock}",
            f"{fields} {days} {'' if own else user + ' '}{command}",
        ]
        if rng.random() < 0.2:
            lines += ["", f"#{rng.randint(0, 59)} 4 * * * {'' if own else 'root '}/opt/jobs/old"]
        if runs_today:
            rows += [
                _run(job=name, start=start, length=length, lock=lock, user=user, command=command) for start in starts
            ]
    return rows, tables


def _run(*, job: str, start: int, length: int, lock: str, user: str, command: str) -> Row:
    return {
        "key": f"{job}@{clock(start)}", "entity": lock, "category": user, "group": job, "quantity": length,
        "time": epoch(2024, 5, 14) + start * 60, "text": command, "start": start, "end": min(1440, start + length),
    }  # fmt: skip


def _schedule(rng: random.Random) -> tuple[str, list[int]]:
    """Minute and hour fields, and the minutes of the day that they mean."""
    minute, hour = rng.randint(0, 59), rng.randint(0, 23)
    match rng.randint(0, 5):
        case 0:
            step = rng.choice((15, 20, 30))
            last = min(23, hour + 1)
            return f"*/{step} {hour}-{last}", [h * 60 + m for h in range(hour, last + 1) for m in range(0, 60, step)]
        case 1:
            step = rng.choice((3, 4, 6))
            return f"{minute} */{step}", [h * 60 + minute for h in range(0, 24, step)]
        case 2:
            hours = sorted(rng.sample(range(24), 3))
            return f"{minute} {','.join(map(str, hours))}", [h * 60 + minute for h in hours]
        case 3:
            first = rng.randint(0, 20)
            return f"{first}-59/20 {hour}", [hour * 60 + m for m in range(first, 60, 20)]
        case 4:
            return f"{minute % 30},{minute % 30 + 30} {hour}", [hour * 60 + minute % 30, hour * 60 + minute % 30 + 30]
        case _:
            return f"{minute:02d} {hour}", [hour * 60 + minute]


def _takes(length: int) -> str:
    hours, minutes = divmod(length, 60)
    return f"{hours}h" * bool(hours) + f"{minutes}m" * bool(minutes)


def _tables(rows: Mapping[str, Mapping[str, tuple[Row, ...]]]) -> dict[str, Table]:
    job = Column("key", "job", "job")
    return {
        RECORDS: Table(
            RECORDS,
            (
                Column("key", "run", "name"),
                Column("entity", "lock", "lock"),
                Column("category", "user", "user"),
                Column("group", "job", "job"),
                Column("quantity", "minutes", "length", "minutes"),
                Column("time", "time", "start time"),
                Column("text", "command", "command"),
                Column("start", "start", "start", "minutes"),
                Column("end", "end", "end", "minutes"),
            ),
            rows[RECORDS],
            "What counts are the runs of Tuesday, 14 May 2024; the hosts run on UTC. A run's name is `job@HH:MM` with "
            "the time at which it starts. It starts at its minute and lasts as long as its job takes; on the clock "
            "one that would go past midnight ends at 24:00, its length is the full one all the same.",
            _READER,
        ),
        SECOND: Table(
            SECOND,
            (job, Column("quantity", "measured", "measured times", "minutes")),
            rows[SECOND],
            "Process accounting has measured times of that day in `{root}/accounting/<code>.log`, lines like "
            "`rotate-mail 12min`, one or more for a job.",
            'sed -E \'s/^([^ ]+) ([0-9]+)min$/\\1\\t\\2/\' "$S/accounting/$LOT.log" > "$W/second.tsv"',
            join="group",
        ),
        BASELINE: Table(
            BASELINE,
            (job,),
            rows[BASELINE],
            "The register of jobs is `{root}/register/<code>.txt`: the job, blanks, its owner; `#` begins a comment "
            "line.",
            'awk \'!/^#/ { print $1 }\' "$S/register/$LOT.txt" | sort -u > "$W/baseline.tsv"',
            join="group",
        ),
    }
