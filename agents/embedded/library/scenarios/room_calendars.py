"""iCalendar files of meeting rooms: folded lines, own time zones, durations, revised and cancelled bookings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, ClassVar

from agents.embedded.library.drawing import epoch, latest, remark
from agents.embedded.library.framework import RECORDS, VERSIONS, Column, Material, Row, Table, Words
from agents.embedded.library.story import people
from agents.embedded.library.wording import number

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from agents.embedded.library.framework import Roles
    from agents.embedded.library.story import Organisation

_SITES = ("quay", "tower", "annex", "campus", "depot", "lodge", "mill", "villa")
_ROOMS = ("alder", "birch", "cedar", "elm", "hazel", "larch", "maple", "oak", "rowan", "willow")
_UNITS = ("sales", "finance", "research", "legal", "people")
_TITLES = ("Review of {code}", "Interview, round {num}", "{name} meets the board; bring {code}", "Workshop on {code} and {code}",
           "Call with {mail}", "Handover from {mail} to {mail}, with a look at everything that is still open", "Jour fixe")  # fmt: skip
_ZONES = (("Europe/Berlin", 120), ("America/New_York", -240), ("Asia/Kolkata", 330))

_READER = r"""
python3 - "$S/calendars/$LOT" "$W" <<'PY'
import glob, os, re, sys
from datetime import datetime, timedelta, timezone
folder, work = sys.argv[1:]
versions, kept = [], {}
def seconds(text):
    days, hours, minutes = re.fullmatch(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?)?", text).groups()
    return int(days or 0) * 86400 + int(hours or 0) * 3600 + int(minutes or 0) * 60
for path in sorted(glob.glob(folder + "/*.ics")):
    text = open(path, encoding="utf-8", newline="").read().replace("\r\n ", "").replace("\r\n\t", "")
    zones, event, zone = {}, None, ""
    def moment(name):
        at = datetime.strptime(event[name].rstrip("Z"), "%Y%m%dT%H%M%S").replace(tzinfo=timezone.utc)
        if not event[name].endswith("Z"):
            at -= timedelta(minutes=zones[event[name + ";TZID"]])
        return int(at.timestamp())
    for line in text.split("\r\n"):
        name, _, value = line.partition(":")
        name, *options = name.split(";")
        if line == "BEGIN:VEVENT":
            event = {}
        elif line == "END:VEVENT":
            start = moment("DTSTART")
            end = moment("DTEND") if "DTEND" in event else start + seconds(event["DURATION"])
            title = event["SUMMARY"].replace("\\,", ",").replace("\\;", ";")
            row = (event["UID"], int(event["SEQUENCE"]), os.path.basename(path)[:-4], event["STATUS"].lower(), event["CATEGORIES"],
                   int(event["X-SEATS"]), start, title, start, end)
            versions.append(row)
            if row[0] not in kept or row[1] >= kept[row[0]][1]:
                kept[row[0]] = row
            event = None
        elif event is not None:
            event[name] = value
            for option in options:
                event[name + ";" + option.partition("=")[0]] = option.partition("=")[2]
        elif name == "TZID":
            zone = value
        elif name == "TZOFFSETTO":
            zones[zone] = int(value[0] + "1") * (int(value[1:3]) * 60 + int(value[3:5]))
records = [row[:1] + row[2:] for _, row in sorted(kept.items()) if row[3] != "cancelled"]
for name, rows in (("versions", [row[:6] for row in versions]), ("records", records)):
    with open(f"{work}/{name}.tsv", "w", encoding="utf-8") as out:
        out.writelines("\t".join(map(str, row)) + "\n" for row in rows)
PY
"""


class RoomCalendars:
    """σ: the bookings of meeting rooms."""

    name: ClassVar[str] = "room-calendars"
    rarity: ClassVar[int] = 4
    tools: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[Words] = Words(
        record="booking",
        records="bookings",
        lot="site",
        lots="sites",
        task="room-calendar",
        heading="Room calendars of the sites",
        heading_in_text="the room calendars of the sites",
        errand="rooms are said to be short, and a floor may be given up",
    )
    roles: ClassVar[Mapping[str, Roles]] = {
        RECORDS: frozenset(
            {"key", "entity", "category", "group", "quantity", "time", "text", "start", "end", "spending"}
        ),
        VERSIONS: frozenset({"key", "revision", "entity", "category", "quantity"}),
    }

    def material(self, rng: random.Random, organisation: Organisation) -> Material:
        """Four sites, four rooms each."""
        lots = tuple(sorted(rng.sample(_SITES, 4)))
        files: dict[str, bytes] = {}
        rows: dict[str, dict[str, tuple[Row, ...]]] = {name: {} for name in self.roles}
        for lot in lots:
            booked: list[Row] = []
            for room in sorted(rng.sample(_ROOMS, 4)):
                events = _events(rng, room, organisation)
                booked += events
                files[f"calendars/{lot}/{room}.ics"] = _calendar(rng, room, events)
            rows[VERSIONS][lot] = tuple(booked)
            rows[RECORDS][lot] = tuple(row for row in latest(booked) if row["category"] != "cancelled")
        layout = (
            "The room calendars of a site are `{root}/calendars/<code>/<room>.ics` (iCalendar, RFC 5545: CRLF line "
            "ends, long lines folded, `\\,` and `\\;` for a comma and a semicolon in a summary). A `DTSTART` or "
            "`DTEND` that ends in `Z` is UTC; any other is local time of its `TZID`, whose offset from UTC the file "
            "gives in a `VTIMEZONE` (`TZOFFSETTO`; one offset each). An event without `DTEND` has a `DURATION`. "
            "`X-SEATS` is the number of seats asked for, `CATEGORIES` the unit that booked; statuses are taken in "
            "lower case."
        )
        return Material(lots, files, layout, _tables(rows))


def _events(rng: random.Random, room: str, organisation: Organisation) -> list[Row]:
    names = people(rng, 5)
    rows: list[Row] = []
    for place in range(rng.randint(6, 8)):
        start = epoch(2024, 5, rng.randint(13, 17), rng.randint(6, 16), rng.choice((0, 15, 30, 45)))
        length = rng.choice((30, 45, 60, 60, 90, 120, 180)) * 60
        uid, base = f"{room}-{place:02d}-{rng.getrandbits(20):05x}", rng.choice((0, 0, 0, 9))
        text = remark(rng, rng.choice(_TITLES), names, organisation.domain, ["10.0.0.1"])
        for revision in range(base, base + rng.choice((1, 1, 1, 2, 3))):
            moved = start + rng.choice((0, 0, 900, 3600, -1800))
            rows.append({
                "key": uid, "revision": revision, "entity": room, "category": rng.choice(("confirmed",) * 5 + ("tentative",) * 2 + ("cancelled",)),
                "group": rng.choice(_UNITS), "quantity": rng.randint(2, 24), "time": moved, "text": text, "start": moved, "end": moved + length,
            })  # fmt: skip
    return rng.sample(rows, len(rows))


def _calendar(rng: random.Random, room: str, events: list[Row]) -> bytes:
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", f"PRODID:-//rooms//{room}//EN"]
    for zone, minutes in _ZONES:
        offset = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}{abs(minutes) % 60:02d}"
        lines += ["BEGIN:VTIMEZONE", f"TZID:{zone}", "BEGIN:STANDARD", "DTSTART:19700101T000000"]
        lines += [f"TZOFFSETFROM:{offset}", f"TZOFFSETTO:{offset}", "END:STANDARD", "END:VTIMEZONE"]
    for row in events:
        summary = str(row["text"]).replace(",", "\\,").replace(";", "\\;")
        event = [
            f"UID:{row['key']}",
            f"SEQUENCE:{row['revision']}",
            f"STATUS:{str(row['category']).upper()}",
            f"SUMMARY:{summary}",
        ]
        event += [
            f"CATEGORIES:{row['group']}",
            f"X-SEATS:{row['quantity']}",
            _stamp(rng, "DTSTART", number(row["start"])),
        ]
        length = (number(row["end"]) - number(row["start"])) // 60
        duration = f"DURATION:PT{f'{length // 60}H' * (length >= 60)}{f'{length % 60}M' * (length % 60 > 0)}"
        event.append(duration if rng.random() < 0.4 else _stamp(rng, "DTEND", number(row["end"])))
        lines += ["BEGIN:VEVENT", *rng.sample(event, len(event)), "END:VEVENT"]
    return "".join(f"{_folded(line)}\r\n" for line in [*lines, "END:VCALENDAR"]).encode()


def _stamp(rng: random.Random, name: str, moment: int) -> str:
    at = datetime.fromtimestamp(moment, UTC)
    if rng.random() < 0.4:
        return f"{name}:{at:%Y%m%dT%H%M%SZ}"
    zone, minutes = rng.choice(_ZONES)
    return f"{name};TZID={zone}:{at + timedelta(minutes=minutes):%Y%m%dT%H%M%S}"


def _folded(line: str) -> str:
    """A line folded as RFC 5545 asks; everything here is ASCII, so characters are octets."""
    first, rest = line[:75], line[75:]
    return "\r\n ".join([first, *(rest[at : at + 74] for at in range(0, len(rest), 74))])


def _tables(rows: Mapping[str, Mapping[str, tuple[Row, ...]]]) -> dict[str, Table]:
    uid, room = Column("key", "uid", "UID"), Column("entity", "room", "room")
    status, unit = Column("category", "status", "status"), Column("group", "unit", "unit")
    seats = Column("quantity", "seats", "number of seats", "seats")
    return {
        RECORDS: Table(
            RECORDS,
            (
                uid,
                room,
                status,
                unit,
                seats,
                Column("time", "start_time", "start"),
                Column("text", "summary", "summary"),
                Column("start", "start", "start", "seconds"),
                Column("end", "end", "end", "seconds"),
            ),
            rows[RECORDS],
            "A booking that was changed stands there again with the same `UID` and a higher `SEQUENCE` (a number), in "
            "any order. Only its highest sequence counts, and a booking whose highest sequence is cancelled is none.",
            _READER,
        ),
        VERSIONS: Table(
            VERSIONS,
            (uid, Column("revision", "sequence", "`SEQUENCE`"), room, status, unit, seats),
            rows[VERSIONS],
            "A booking that was changed stands there again with the same `UID` and another `SEQUENCE`, in any order; "
            "rooms are read in the order of their names, events as they stand in a file. Cancelled ones are rows like "
            "all others here.",
            _READER,
        ),
    }
