#!/bin/bash
set -e
cat > /home/user/bin/nextfire <<'PYTHON'
#!/usr/bin/env python3
import datetime
import re
import sys

MONTHS = {n: i for i, n in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
DAYS = {n: i for i, n in enumerate("sun mon tue wed thu fri sat".split())}
FIELDS = [(0, 59, {}), (0, 23, {}), (1, 31, {}), (1, 12, MONTHS), (0, 7, DAYS)]


def values(text, low, high, names):
    def number(word):
        if word.lower() in names:
            return names[word.lower()]
        if not re.fullmatch("[0-9]+", word) or not low <= int(word) <= high:
            raise ValueError(word)
        return int(word)

    found = set()
    for element in text.split(","):
        span, slash, step = element.partition("/")
        if slash and (not re.fullmatch("[0-9]+", step) or int(step) < 1):
            raise ValueError(element)
        if span == "*":
            # the whole week has seven days, not eight
            first, last = low, 6 if names is DAYS else high
        elif "-" in span:
            first, last = map(number, span.split("-"))
            if first > last:
                raise ValueError(element)
        elif slash:
            raise ValueError(element)
        else:
            first = last = number(span)
        found.update(range(first, last + 1, int(step or 1)))
    return {v % 7 for v in found} if names is DAYS else found


def main(arguments):
    count = "3"
    if arguments and arguments[0] == "-c":
        count, arguments = arguments[1], arguments[2:]
    expression, start = arguments
    if not re.fullmatch("[0-9]+", count) or int(count) < 1:
        raise ValueError(count)
    if not re.fullmatch(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}", start):
        raise ValueError(start)
    start = datetime.datetime.strptime(start, "%Y-%m-%dT%H:%M")
    fields = expression.split()
    if len(fields) != 5:
        raise ValueError(expression)
    minutes, hours, days, months, weekdays = (values(f, *rest) for f, rest in zip(fields, FIELDS))
    either = fields[2][0] != "*" and fields[4][0] != "*"
    out, day = [], start.date()
    while day.year < 2100 and len(out) < int(count):
        by_date, by_week = day.day in days, day.isoweekday() % 7 in weekdays
        if day.month in months and (by_date or by_week if either else by_date and by_week):
            for hour in sorted(hours):
                for minute in sorted(minutes):
                    when = datetime.datetime(day.year, day.month, day.day, hour, minute)
                    if when > start:
                        out.append(when.strftime("%Y-%m-%dT%H:%M"))
        day += datetime.timedelta(1)
    sys.stdout.writelines(line + "\n" for line in out[: int(count)])


try:
    main(sys.argv[1:])
except (ValueError, IndexError) as error:
    print(f"nextfire: {error}", file=sys.stderr)
    sys.exit(2)
PYTHON
chmod 755 /home/user/bin/nextfire
