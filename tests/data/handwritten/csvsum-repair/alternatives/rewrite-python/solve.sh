#!/bin/bash
cat > /opt/csvsum/csvsum <<'PY'
#!/usr/bin/env python3
import getopt, re, sys
from collections import Counter

try:
    opts, args = getopt.getopt(sys.argv[1:], "d:n")
    key, value = args
except (getopt.GetoptError, ValueError) as e:
    print(e, file=sys.stderr)
    sys.exit(64)
opts = dict(opts)
d = opts.get("-d", ",").encode()
lines = [l.removesuffix(b"\r").split(d) for l in sys.stdin.buffer.read().split(b"\n") if l.strip(b"\r\n")]
try:
    head = lines[0]
    k, v = head.index(key.encode()), head.index(value.encode())
    total = Counter()
    for l in lines[1:]:
        cell = l[v] or b"0"
        if not re.fullmatch(rb"[+-]?[0-9]+", cell):
            raise ValueError(cell)
        total[l[k]] += int(cell)
except (ValueError, IndexError) as e:
    print("csvsum:", e, file=sys.stderr)
    sys.exit(65)
for k in sorted(total, key=(lambda k: (-total[k], k)) if "-n" in opts else None):
    sys.stdout.buffer.write(k + d + str(total[k]).encode() + b"\n")
PY
