#!/bin/bash
python3 - <<'PY'
import datetime, pathlib, re

MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
DAYS = "sun mon tue wed thu fri sat".split()
SHORT = {"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@monthly": "0 0 1 * *"}

def value(text, names, base):
    return names.index(text.lower()) + base if text.lower() in names else int(text)

def field(text, low, high, names=(), base=0):
    found = set()
    for item in text.split(","):
        span, _, step = item.partition("/")
        if span == "*":
            a, b = low, high
        else:
            a, _, b = span.partition("-")
            a = value(a, names, base)
            b = value(b, names, base) if b else a
        found.update(range(a, b + 1, int(step or 1)))
    return found

runs = []
for file in sorted(pathlib.Path("/opt/old-server/cron.d").iterdir()):
    for number, line in enumerate(file.read_text().splitlines()):
        line = line.strip()
        if not line or line[0] == "#" or re.match(r"\w+\s*=", line) or line.startswith("@reboot"):
            continue
        if line[0] == "@":
            word, line = re.split(r"\s+", line, maxsplit=1)
            line = SHORT[word] + " " + line
        mi, ho, dom, mo, dow, user, command = re.split(r"\s+", line, maxsplit=6)
        either = dom[0] != "*" and dow[0] != "*"
        minutes, hours = field(mi, 0, 59), field(ho, 0, 23)
        days, months = field(dom, 1, 31), field(mo, 1, 12, MONTHS, 1)
        weekdays = {d % 7 for d in field(dow, 0, 7, DAYS)}
        day = datetime.datetime(2024, 2, 24)
        while day < datetime.datetime(2024, 3, 6):
            a, b = day.day in days, day.isoweekday() % 7 in weekdays
            if day.month in months and ((a or b) if either else (a and b)):
                for h in hours:
                    for m in minutes:
                        runs.append((day.replace(hour=h, minute=m), file.name, number, user, command))
            day += datetime.timedelta(days=1)
with open("/opt/old-server/forecast.tsv", "w") as f:
    for when, name, _, user, command in sorted(runs):
        f.write(f"{when:%Y-%m-%d %H:%M}\t{name}\t{user}\t{command}\n")
PY
