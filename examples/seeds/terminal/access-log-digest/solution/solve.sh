#!/bin/bash
# Reference solution: one section a step, each reads what the one before it wrote.

# envolve: step s1
export LC_ALL=C
S=/app/data/s1 OUT=/app/out/s1-status-totals.json W=$(mktemp -d)
mkdir -p "${OUT%/*}"
LOT=edge-fra
python3 - "$S/logs/$LOT" "$W" <<'PY'
import glob, gzip, os, re, sys
from datetime import datetime
folder, work = sys.argv[1:]
form = re.compile(r'^(?:\S+:\d+ )?(\S+) \S+ \S+ \[([^\]]+)\] "((?:[^"\\]|\\.)*)" (\S+) (\S+) "(?:[^"\\]|\\.)*" "(?:[^"\\]|\\.)*" rt=\S+ id=(\S+)$')
def age(path):
    number = re.search(r"\.log\.(\d+)", path)
    return int(number.group(1)) if number else 0
records, verdicts = [], []
for path in sorted(glob.glob(folder + "/access.log*"), key=age, reverse=True):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as stream:
        for count, line in enumerate(stream, 1):
            line, verdict = line.rstrip("\n"), "ok"
            found = form.match(line)
            if not re.search(r" id=\S+$", line):
                verdict = "truncated"
            elif len(found.group(3).split(" ")) != 3:
                verdict = "request"
            elif not re.fullmatch(r"[1-5]\d\d", found.group(4)):
                verdict = "status"
            else:
                client, when, request, status, size, key = found.groups()
                moment = int(datetime.strptime(when, "%d/%b/%Y:%H:%M:%S %z").timestamp())
                method, target, _ = request.split(" ")
                records.append((key, client, status, method, 0 if size == "-" else size, moment, target))
            verdicts.append((os.path.basename(path), count, verdict))
for name, rows in (("records", records), ("rejects", verdicts)):
    with open(f"{work}/{name}.tsv", "w", encoding="utf-8") as out:
        out.writelines("\t".join(map(str, row)) + "\n" for row in rows)
PY
awk -F'\t' '($3 == "404" || $3 == "500" || $3 == "503") && $5 >= 550 {
    n++; t += $5; c[$4]++; s[$4] += $5
    if (n == 1 || $5 > q || ($5 == q && $1 "" < k)) {
      q = $5 + 0; k = $1 "" }
  }
  END {
    printf "{\"matched\": %d, \"total_bytes\": %d, \"largest\": \"%s\", \"by_method\": {", n, t, k
    for (g in c) { printf "%s\"%s\": {\"count\": %d, \"total_bytes\": %d}", sep, g, c[g], s[g]; sep = ", " }
    print "}}"
  }' "$W/records.tsv" > "$OUT"
rm -rf "$W"
