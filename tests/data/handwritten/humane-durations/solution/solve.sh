#!/bin/bash
set -euo pipefail
cd /srv/tools
python3 - <<'PYTHON'
import pathlib

def edit(name, *changes):
    path = pathlib.Path("durfmt", name)
    text = path.read_text()
    for old, new in changes:
        assert text.count(old) == 1, (name, old)
        text = text.replace(old, new)
    path.write_text(text)

edit("show.py",
     ('    return " ".join(parts)', '    return " ".join(parts) or "0s"'),
     ("{minutes}:{seconds:02d}", "{minutes:02d}:{seconds:02d}"))
edit("__main__.py",
     ("            total = True\n", '            total = True\n        else:\n            print(f"unknown option: {flag}", file=sys.stderr)\n            return 2\n    if not arguments:\n        print(__doc__, file=sys.stderr)\n        return 2\n'),
     ('{error}")', '{error}", file=sys.stderr)'),
     ("    main(sys.argv[1:])", "    sys.exit(main(sys.argv[1:]))"))
PYTHON
cat > durfmt/parse.py <<'PYTHON'
"""Text to seconds."""

import re

UNITS = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}
GROUP = re.compile(r" *([0-9]+) *([wdhms])", re.IGNORECASE)
CLOCK = re.compile(r"(?:([0-9]+):)?([0-9]+):([0-9]{2})")


class BadDuration(ValueError):
    """The text is no duration."""


def parse(text):
    bare = text.strip(" ")
    if re.fullmatch("[0-9]+", bare):
        return int(bare)
    if ":" in bare:
        return _clock(text, bare)
    seen, at = {}, 0
    while at < len(bare):
        match = GROUP.match(bare, at)
        if not match or match[2].lower() in seen:
            raise BadDuration(text)
        seen[match[2].lower()] = int(match[1])
        at = match.end()
    if not seen:
        raise BadDuration(text)
    return sum(UNITS[unit] * number for unit, number in seen.items())


def _clock(text, bare):
    fields = bare.split(":")
    if not 2 <= len(fields) <= 3 or not all(re.fullmatch("[0-9]+", field) for field in fields):
        raise BadDuration(text)
    if any(len(field) != 2 or int(field) > 59 for field in fields[1:]):
        raise BadDuration(text)
    total = 0
    for field in fields:
        total = total * 60 + int(field)
    return total
PYTHON
sed -i '/^CLOCK/d' durfmt/parse.py
python3 -m durfmt --sum 1h30m 90 2:00
