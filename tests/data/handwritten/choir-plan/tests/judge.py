#!/usr/bin/env python3
# Walks through March minute by minute... well, day by day, and asks each event of our own copy of the calendar whether it happens.
import datetime
import sys

blocks, keep = [], None
with open("/tests/choir.ics", newline="") as f:
    for line in f.read().replace("\r\n ", "").splitlines():
        if line == "BEGIN:VEVENT":
            keep = []
        elif line == "END:VEVENT":
            blocks.append(keep)
            keep = None
        elif keep is not None:
            keep.append(line)


def prop(block, name, default=None):
    inside = False
    for line in block:
        inside = line == "BEGIN:VALARM" or (inside and line != "END:VALARM")
        if not inside and line.startswith(name + ":"):
            return line[len(name) + 1:].replace("\\,", ",").replace("\\;", ";")
    return default


def date(s):
    return datetime.date(int(s[:4]), int(s[4:6]), int(s[6:8]))


def monday(d):
    return d.toordinal() - d.weekday()


def in_rule(block, d, counted=True):
    """Is the day an occurrence, before exceptions?"""
    first = date(prop(block, "DTSTART"))
    rule = prop(block, "RRULE")
    if rule is None or d <= first:
        return d == first
    r = dict(p.split("=") for p in rule.split(";"))
    code = "MO TU WE TH FR SA SU".split()
    if "UNTIL" in r and d > date(r["UNTIL"]):
        return False
    if code[d.weekday()] not in r.get("BYDAY", code[first.weekday()]).split(","):
        return False
    if (monday(d) - monday(first)) % (7 * int(r.get("INTERVAL", "1"))):
        return False
    if "COUNT" in r and counted:
        earlier = sum(in_rule(block, datetime.date.fromordinal(o), False) for o in range(first.toordinal(), d.toordinal()))
        return earlier < int(r["COUNT"])
    return True


replaced = {(prop(b, "UID"), prop(b, "RECURRENCE-ID")[:8]) for b in blocks if prop(b, "RECURRENCE-ID")}
want = []
for b in blocks:
    dropped = {v[:8] for line in b if line.startswith("EXDATE:") for v in line[7:].split(",")}
    for n in range(1, 32):
        d = datetime.date(2025, 3, n)
        s = d.strftime("%Y%m%d")
        if not in_rule(b, d) or s in dropped or (prop(b, "RRULE") and (prop(b, "UID"), s) in replaced):
            continue
        t = prop(b, "DTSTART")[9:13]
        begin = int(t[:2]) * 60 + int(t[2:])
        rest, length = prop(b, "DURATION")[2:], 0
        if "H" in rest:
            h, rest = rest.split("H")
            length = 60 * int(h)
        length += int(rest[:-1] or 0) if rest else 0
        end = begin + length
        place = prop(b, "LOCATION")
        text = f"{d:%a %d} Mar {t[:2]}:{t[2:]}-{end // 60:02d}:{end % 60:02d}  {prop(b, 'SUMMARY')}" + (f" ({place})" if place else "")
        want.append((d.isocalendar()[1], n, begin, prop(b, "SUMMARY"), text))
want.sort()
lines, week = [], None
for w, *_, text in want:
    if w != week:
        lines += ([""] if week else []) + [f"Week {w}"]
        week = w
    lines.append(text)

try:
    with open("/opt/choir/march.txt", encoding="utf-8", newline="") as f:
        got = f.read()
except (OSError, UnicodeDecodeError) as e:
    sys.exit(f"march.txt: {e}")
got = got.removesuffix("\n").split("\n")
for n, (a, b) in enumerate(zip(got + [None], lines + [None])):
    if a != b:
        sys.exit(f"line {n + 1}: {a!r} instead of {b!r}")
print(len(want), "occurrences, all right")
with open("/logs/verifier/reward.txt", "w") as f:
    f.write("1\n")
