#!/bin/bash
# Reference solution: one section a step, each reads what the one before it wrote.

# envolve: step s1
export LC_ALL=C
S=/app/data/s1 OUT=/app/out/s1-reconciliation.json W=$(mktemp -d)
mkdir -p "${OUT%/*}"
LOT=riverside
python3 - "$S/orders/$LOT" "$W" <<'PY'
import csv, glob, sys
from datetime import datetime, timezone
folder, work = sys.argv[1:]
rows = []
for path in sorted(glob.glob(folder + "/part-*.csv")):
    with open(path, encoding="utf-8", newline="") as stream:
        for line in csv.DictReader(stream):
            when, form = line["ordered_at"], "%Y-%m-%d %H:%M"
            if "/" in when:
                form = "%d/%m/%Y %H:%M"
            moment = int(datetime.strptime(when, form).replace(tzinfo=timezone.utc).timestamp())
            units, _, rest = line["amount"].replace(",", "").partition(".")
            cents = int(units) * 100 + int(rest.ljust(2, "0") or 0)
            note = line["note"].replace("\r\n", " ").replace("\n", " ")
            rows.append((line["order_no"], int(line["revision"]), line["customer"], line["status"], line["channel"], cents, moment, note))
latest = {}
for row in rows:
    if row[0] not in latest or row[1] >= latest[row[0]][1]:
        latest[row[0]] = row
with open(work + "/versions.tsv", "w", encoding="utf-8") as out:
    out.writelines("\t".join(map(str, row[:6])) + "\n" for row in rows)
with open(work + "/records.tsv", "w", encoding="utf-8") as out:
    out.writelines("\t".join(map(str, (key, *row[2:]))) + "\n" for key, row in sorted(latest.items()))
PY
tail -n +2 "$S/payments/$LOT.csv" | tr -d '\r' | awk -F';' '{
  key = $2; gsub(/[ "]/, "", key); amount = $3; gsub(/["€. ]/, "", amount); split(amount, part, ",")
  printf "%s\t%d\n", key, part[1] * 100 + part[2] }' > "$W/second.tsv"
T="$(printf '\t')"
total() { awk -F'\t' -v k="$2" -v q="$3" '{ s[$k] += $q } END { for (n in s) print n "\t" s[n] }' "$1" | sort -t "$T" -k1,1; }
total "$W/records.tsv" 1 5 > "$W/ours"
total "$W/second.tsv" 1 2 > "$W/theirs"
join -t "$T" "$W/ours" "$W/theirs" > "$W/shared"
join -t "$T" -v1 "$W/ours" "$W/theirs" | cut -f1 > "$W/unanswered"
join -t "$T" -v2 "$W/ours" "$W/theirs" | cut -f1 > "$W/unknown"
python3 - "$W" "$OUT" <<'PY'
import json, sys
work, out = sys.argv[1:]
lines = lambda name: open(f"{work}/{name}", encoding="utf-8").read().splitlines()
shared = [(name, int(a), int(b)) for name, a, b in (line.split("\t") for line in lines("shared"))]
differing = [row for row in shared if abs(row[1] - row[2]) > 17]
json.dump({
    "agreeing": len(shared) - len(differing),
    "differing": [{"order_no": n, "cents": a, "paid_cents": b} for n, a, b in differing],
    "unanswered": lines("unanswered"),
    "unknown": lines("unknown"),
    "gap": sum(abs(a - b) for _, a, b in differing),
}, open(out, "w"), indent=1)
PY
rm -rf "$W"
