#!/bin/bash
# Everything in __main__.py, a hand-made scanner instead of regular expressions.
set -e
rm -r /srv/tools/durfmt
mkdir /srv/tools/durfmt
cat > /srv/tools/durfmt/__main__.py <<'PY'
import sys

SIZES = [("w", 604800), ("d", 86400), ("h", 3600), ("m", 60), ("s", 1)]
DIGITS = set("0123456789")


def number(s):
    return int(s) if s and set(s) <= DIGITS else None


def scan(s):
    s = s.strip(" ")
    if number(s) is not None:
        return number(s)
    if ":" in s:
        head, *rest = s.split(":")
        value = number(head)
        if value is None or len(rest) > 2:
            return None
        for r in rest:
            if len(r) != 2 or number(r) is None or number(r) >= 60:
                return None
            value = value * 60 + number(r)
        return value
    left = dict(SIZES)
    value, i = 0, 0
    while i < len(s):
        while i < len(s) and s[i] == " ":
            i += 1
        start = i
        while i < len(s) and s[i] in DIGITS:
            i += 1
        n = number(s[start:i])
        while i < len(s) and s[i] == " ":
            i += 1
        unit = s[i].lower() if i < len(s) else ""
        if n is None or unit not in left:
            return None
        value += n * left.pop(unit)
        i += 1
    return value if len(left) < 5 else None


args = sys.argv[1:]
options = set()
while args and args[0].startswith("--"):
    options.add(args.pop(0))
if options - {"--clock", "--sum"} or not args:
    sys.stderr.write("usage: durfmt [--clock] [--sum] DURATION...\n")
    sys.exit(2)
results = []
for a in args:
    v = scan(a)
    if v is None:
        sys.stderr.write("bad duration: " + a + "\n")
        sys.exit(1)
    results.append(v)
if "--sum" in options:
    results = [sum(results)]
for v in results:
    if "--clock" in options:
        print("%d:%02d:%02d" % (v // 3600, v // 60 % 60, v % 60))
    else:
        out = []
        for name, size in SIZES:
            if v >= size:
                out.append("%d%s" % (v // size, name))
                v %= size
        print(" ".join(out) if out else "0s")
PY
