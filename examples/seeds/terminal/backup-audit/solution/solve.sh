#!/bin/bash
# Reference solution: one section a step, each reads what the one before it wrote.

# envolve: step s1
export LC_ALL=C
S=/app/data/s1 OUT=/app/out/s1-checksum-audit.json W=$(mktemp -d)
mkdir -p "${OUT%/*}"
LOT=darwin
mkdir -p "$W/outer" "$W/latest"
tar -xzf "$S/backups/$LOT.tar.gz" -C "$W/outer"
: > "$W/all"
for set in "$W"/outer/set-*; do
  number=$(basename "$set" | tr -cd '0-9' | cut -c1-2); number=${number#0}
  mkdir "$W/set"
  case $set in
    *.tgz) tar -xzf "$set" -C "$W/set" ;;
    *.zip) python3 -m zipfile -e "$set" "$W/set" ;;
    *.tar.b64) base64 -d "$set" | tar -xf - -C "$W/set" ;;
  esac
  ( cd "$W/set" && find . -type f -printf '%P\t%s\n' | sort ) | while IFS="$(printf '\t')" read -r path size; do
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$path" "$number" "${path%%/*}" "${path##*.}" "$size" "$(head -n 1 "$W/set/$path")"
  done >> "$W/all"
  cp -r "$W/set/." "$W/latest/"
  rm -r "$W/set"
done
cut -f1-5 "$W/all" > "$W/versions.tsv"
sort -t "$(printf '\t')" -k1,1 -k2,2nr "$W/all" | awk -F'\t' '!seen[$1]++ { print $1 "\t" $3 "\t" $4 "\t" $2 "\t" $5 "\t" $6 }' > "$W/records.tsv"
( cd "$W/latest" && find . -type f -printf '%P\n' | sort | xargs sha256sum > "$W/actual" )
awk 'NR == FNR { a[$2] = $1; n[$2]; next } { l[$2] = $1; n[$2] }
     END { for (f in n) print f "\t" ((f in l) ? l[f] : "-") "\t" ((f in a) ? a[f] : "-") }' "$W/actual" "$W/outer/MANIFEST" |
  sort > "$W/manifest.tsv"
python3 - "$W/manifest.tsv" "$OUT" <<'PY'
import hashlib, json, sys
result = {"intact": 0, "altered": [], "missing": [], "unlisted": []}
seal = hashlib.sha256()
for row in sorted(line.rstrip("\n").split("\t") for line in open(sys.argv[1], encoding="utf-8")):
    name, listed, actual = row[0], row[1], row[2]
    if listed == actual:
        result["intact"] += 1
        seal.update(f"{actual} {name}\n".encode())
    else:
        result["unlisted" if listed == "-" else "missing" if actual == "-" else "altered"].append(name)
result["seal"] = seal.hexdigest()
json.dump(result, open(sys.argv[2], "w"), indent=1)
PY
rm -rf "$W"

# envolve: step s2
export LC_ALL=C
S=/app/data/s2 OUT=/app/out/s2-latest-files.json W=$(mktemp -d)
mkdir -p "${OUT%/*}"
V=$(python3 -c 'import json; print(json.load(open("/app/out/s1-checksum-audit.json"))["seal"])' 2>/dev/null)
D=$([ -n "$V" ] && printf %s "$V" | sha256sum | cut -c1)
LOT=$(awk -v d="$D" '$1 "" == d { print $2 }' "$S/pointers.txt")
LOT=${LOT:-nowhere}
mkdir -p "$W/outer" "$W/latest"
tar -xzf "$S/backups/$LOT.tar.gz" -C "$W/outer"
: > "$W/all"
for set in "$W"/outer/set-*; do
  number=$(basename "$set" | tr -cd '0-9' | cut -c1-2); number=${number#0}
  mkdir "$W/set"
  case $set in
    *.tgz) tar -xzf "$set" -C "$W/set" ;;
    *.zip) python3 -m zipfile -e "$set" "$W/set" ;;
    *.tar.b64) base64 -d "$set" | tar -xf - -C "$W/set" ;;
  esac
  ( cd "$W/set" && find . -type f -printf '%P\t%s\n' | sort ) | while IFS="$(printf '\t')" read -r path size; do
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$path" "$number" "${path%%/*}" "${path##*.}" "$size" "$(head -n 1 "$W/set/$path")"
  done >> "$W/all"
  cp -r "$W/set/." "$W/latest/"
  rm -r "$W/set"
done
cut -f1-5 "$W/all" > "$W/versions.tsv"
sort -t "$(printf '\t')" -k1,1 -k2,2nr "$W/all" | awk -F'\t' '!seen[$1]++ { print $1 "\t" $3 "\t" $4 "\t" $2 "\t" $5 "\t" $6 }' > "$W/records.tsv"
( cd "$W/latest" && find . -type f -printf '%P\n' | sort | xargs sha256sum > "$W/actual" )
awk 'NR == FNR { a[$2] = $1; n[$2]; next } { l[$2] = $1; n[$2] }
     END { for (f in n) print f "\t" ((f in l) ? l[f] : "-") "\t" ((f in a) ? a[f] : "-") }' "$W/actual" "$W/outer/MANIFEST" |
  sort > "$W/manifest.tsv"
python3 - "$W/versions.tsv" "$OUT" <<'PY'
import collections, json, sys
first, last, rows = {}, {}, 0
for text in open(sys.argv[1], encoding="utf-8"):
    row = text.rstrip("\n").split("\t")
    key, revision = row[0], int(row[1])
    rows += 1
    if key not in last or revision >= last[key][0]:
        last[key] = (revision, row)
    if key not in first or revision < first[key][0]:
        first[key] = (revision, row)
watched = 4
result = {
    "kept": len(last),
    "superseded": rows - len(last),
    "total_bytes": sum(int(row[4]) for _, row in last.values()),
    "by_type": dict(collections.Counter(row[3] for _, row in last.values())),
    "changed": sorted(key for key in last if first[key][1][watched] != last[key][1][watched]),
}
json.dump(result, open(sys.argv[2], "w"), indent=1)
PY
rm -rf "$W"
