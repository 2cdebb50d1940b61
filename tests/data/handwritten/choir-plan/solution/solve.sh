#!/bin/bash
set -euo pipefail
python3 - <<'PYTHON'
import re
from datetime import datetime, timedelta

DAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]


def stamp(text):
    return datetime.strptime(text, "%Y%m%dT%H%M%S")


text = open("/opt/choir/choir.ics", newline="").read().replace("\r\n ", "")
events, stack = [], []
for line in text.split("\r\n"):
    name, _, value = line.partition(":")
    if name == "BEGIN":
        stack.append(value)
        if value == "VEVENT":
            event = {"EXDATE": []}
            events.append(event)
    elif name == "END":
        stack.pop()
    elif stack and stack[-1] == "VEVENT":
        if name == "EXDATE":
            event[name] += value.split(",")
        else:
            event[name] = re.sub(r"\\(.)", r"\1", value)


def starts(event):
    start = stamp(event["DTSTART"])
    if "RRULE" not in event:
        return [start]
    rule = dict(part.split("=") for part in event["RRULE"].split(";"))
    days = [DAYS.index(d) for d in rule["BYDAY"].split(",")] if "BYDAY" in rule else [start.weekday()]
    until = stamp(rule["UNTIL"]) if "UNTIL" in rule else datetime(2025, 5, 1)
    week = start - timedelta(days=start.weekday())
    found = []
    while week <= until:
        found += [week + timedelta(days=d) for d in sorted(days)]
        week += timedelta(weeks=int(rule.get("INTERVAL", 1)))
    found = [f for f in found if start <= f <= until]
    return found[: int(rule["COUNT"])] if "COUNT" in rule else found


moved = {(e["UID"], e["RECURRENCE-ID"]) for e in events if "RECURRENCE-ID" in e}
held = []
for event in events:
    for start in starts(event):
        key = start.strftime("%Y%m%dT%H%M%S")
        if key in event["EXDATE"] or ("RRULE" in event and (event["UID"], key) in moved):
            continue
        if (start.year, start.month) == (2025, 3):
            held.append((start, event["SUMMARY"], event))

weeks = {}
for start, summary, event in sorted(held, key=lambda h: h[:2]):
    hours, minutes = (int(n or 0) for n in re.match(r"PT(?:(\d+)H)?(?:(\d+)M)?$", event["DURATION"]).groups())
    end = start + timedelta(hours=hours, minutes=minutes)
    place = f" ({event['LOCATION']})" if "LOCATION" in event else ""
    weeks.setdefault(start.isocalendar()[1], []).append(f"{start:%a %d %b %H:%M}-{end:%H:%M}  {summary}{place}")
plan = "\n".join(f"Week {week}\n" + "".join(line + "\n" for line in lines) for week, lines in weeks.items())
open("/opt/choir/march.txt", "w").write(plan)
PYTHON
