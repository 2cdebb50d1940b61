#!/bin/bash
set -e
cat > /tmp/outages.py <<'PY'
import csv, gzip, re, datetime

PATTERN = re.compile(r"(\w{3}) +(\d+) (\d\d:\d\d:\d\d) (\S+) linkmon\[\d+\]: port (\S+): (UP|DOWN)(?: \(.*)?$")
base = "/srv/monitor/logs/links.log"
lines = []
with gzip.open(base + ".2.gz", "rt") as f:
    lines += f.read().splitlines()
for name in (base + ".1", base):
    with open(name) as f:
        lines += f.read().splitlines()

down, rows = {}, []
for line in dict.fromkeys(lines):
    m = PATTERN.match(line)
    if not m:
        continue
    month, day, clock, host, port, state = m.groups()
    year = 2024 if month == "Dec" else 2025
    when = datetime.datetime.strptime(f"{year} {month} {day} {clock}", "%Y %b %d %H:%M:%S")
    key = host, port
    if state == "DOWN":
        down.setdefault(key, when)
    elif key in down:
        start = down.pop(key)
        rows.append((start.isoformat(), host, port, when.isoformat(), int((when - start).total_seconds())))
rows += [(start.isoformat(), host, port, "", "") for (host, port), start in down.items()]
rows.sort(key=lambda r: r[:3])
with open("/srv/monitor/outages.csv", "w", newline="") as f:
    w = csv.writer(f, lineterminator="\n")
    w.writerow(["host", "port", "start", "end", "seconds"])
    w.writerows([h, p, s, e, n] for s, h, p, e, n in rows)
PY
python3 /tmp/outages.py
