#!/bin/bash
# Reference solution: one section a step, each reads what the one before it wrote.

# envolve: step s1
export LC_ALL=C
S=/app/data/s1 OUT=/app/out/s1-quarantine.json W=$(mktemp -d)
mkdir -p "${OUT%/*}"
LOT=greenhouse
python3 - "$S/telemetry/$LOT" "$W" <<'PY'
import glob, json, os, sys
from datetime import datetime
folder, work = sys.argv[1:]
def verdict(text):
    try:
        line = json.loads(text)
    except ValueError:
        return None, "syntax"
    if any(name not in line for name in ("sensor", "seq", "at", "value", "state")):
        return None, "incomplete"
    if isinstance(line["value"], bool) or not isinstance(line["value"], (int, float)):
        return None, "value"
    return line, "ok"
def moment(at):
    if isinstance(at, str):
        return int(datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp())
    return at // 1000 if at > 10 ** 11 else at
versions, verdicts, latest = [], [], {}
for path in sorted(glob.glob(folder + "/chunk-*.jsonl")):
    for count, text in enumerate(open(path, encoding="utf-8"), 1):
        line, reason = verdict(text)
        verdicts.append((os.path.basename(path), count, reason))
        if line is None:
            continue
        key = f"{line['sensor']}#{line['seq']}"
        row = (key, line.get("try", 0), line["sensor"], line["state"], line["sensor"].split("-")[0], round(line["value"] * 10), moment(line["at"]))
        versions.append(row)
        if key not in latest or row[1] >= latest[key][1]:
            latest[key] = row
tables = {
    "versions": [row[:6] for row in versions],
    "records": [(key, *row[2:]) for key, row in sorted(latest.items())],
    "rejects": verdicts,
}
for name, rows in tables.items():
    with open(f"{work}/{name}.tsv", "w", encoding="utf-8") as out:
        out.writelines("\t".join(map(str, row)) + "\n" for row in rows)
PY
T="$(printf '\t')"
sort -t "$T" -k1,1 -k2,2n "$W/rejects.tsv" > "$W/sorted"
python3 - "$W/sorted" "$OUT" <<'PY'
import collections, json, sys
rows = [line.rstrip("\n").split("\t") for line in open(sys.argv[1], encoding="utf-8")]
bad = [row for row in rows if row[2] != "ok"]
files = collections.Counter(row[0] for row in bad)
result = {
    "good": len(rows) - len(bad),
    "bad": len(bad),
    "by_reason": dict(collections.Counter(row[2] for row in bad)),
    "worst_file": min(files, key=lambda name: (-files[name], name)),
    "line_sum": sum(int(row[1]) for row in bad),
    "lines": [":".join(row) for row in bad],
}
json.dump(result, open(sys.argv[2], "w"), indent=1)
PY
rm -rf "$W"

# envolve: step s2
export LC_ALL=C
S=/app/data/s2 OUT=/app/out/s2-tenths-percentiles.csv W=$(mktemp -d)
mkdir -p "${OUT%/*}"
V=$(python3 -c 'import json; print(json.load(open("/app/out/s1-quarantine.json"))["line_sum"])' 2>/dev/null)
LOT=$(awk -F, -v v="$V" 'NR > 1 && v != "" && v + 0 >= $1 + 0 && ($2 == "" || v + 0 <= $2 + 0) { print $3 }' "$S/bands.csv")
LOT=${LOT:-nowhere}
python3 - "$S/telemetry/$LOT" "$W" <<'PY'
import glob, json, os, sys
from datetime import datetime
folder, work = sys.argv[1:]
def verdict(text):
    try:
        line = json.loads(text)
    except ValueError:
        return None, "syntax"
    if any(name not in line for name in ("sensor", "seq", "at", "value", "state")):
        return None, "incomplete"
    if isinstance(line["value"], bool) or not isinstance(line["value"], (int, float)):
        return None, "value"
    return line, "ok"
def moment(at):
    if isinstance(at, str):
        return int(datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp())
    return at // 1000 if at > 10 ** 11 else at
versions, verdicts, latest = [], [], {}
for path in sorted(glob.glob(folder + "/chunk-*.jsonl")):
    for count, text in enumerate(open(path, encoding="utf-8"), 1):
        line, reason = verdict(text)
        verdicts.append((os.path.basename(path), count, reason))
        if line is None:
            continue
        key = f"{line['sensor']}#{line['seq']}"
        row = (key, line.get("try", 0), line["sensor"], line["state"], line["sensor"].split("-")[0], round(line["value"] * 10), moment(line["at"]))
        versions.append(row)
        if key not in latest or row[1] >= latest[key][1]:
            latest[key] = row
tables = {
    "versions": [row[:6] for row in versions],
    "records": [(key, *row[2:]) for key, row in sorted(latest.items())],
    "rejects": verdicts,
}
for name, rows in tables.items():
    with open(f"{work}/{name}.tsv", "w", encoding="utf-8") as out:
        out.writelines("\t".join(map(str, row)) + "\n" for row in rows)
PY
C=3 Q=5
awk -F'\t' -v c=$C -v q=$Q 'NR == FNR { n[$c]++; next } { print (n[$c] < 5 ? "2\tother" : "1\t" $c) "\t" $q }' \
  "$W/records.tsv" "$W/records.tsv" | sort -t "$(printf '\t')" -k1,1 -k2,2 -k3,3n > "$W/sorted"
{ echo 'state,count,p50,p80,max'
  awk -F'\t' '
    function rank(p) { r = int((p * n + 99) / 100); return v[r < 1 ? 1 : r] }
    function flush() { if (n) print name "," n "," rank(50) "," rank(80) "," v[n] }
    $1 $2 != last { flush(); n = 0; last = $1 $2; name = $2 }
    { v[++n] = $3 }
    END { flush() }' "$W/sorted"
} > "$OUT"
rm -rf "$W"
