#!/bin/bash
# Reference solution: one section a step, each reads what the one before it wrote.

# envolve: step s1
export LC_ALL=C
S=/app/data/s1 OUT=/app/out/s1-baseline-difference.json W=$(mktemp -d)
mkdir -p "${OUT%/*}"
LOT=auth7
awk 'NR == FNR { split($0, entry, ":"); user[entry[3]] = entry[1]; next }
  FNR == 1 || $11 ~ /^\[/ { next }
  {
    who = ($1 in user) ? user[$1] : $1
    month = sprintf("%02d", (index("JanFebMarAprMayJunJulAugSepOctNovDec", $7) + 2) / 3)
    program = $11; sub(/:$/, "", program); sub(/.*\//, "", program)
    line = $0; for (i = 1; i <= 10; i++) sub(/^ *[^ ]+ +/, "", line)
    printf "%s\t%s\t%s\t%s\t%s\t%s-%s-%02d %s\t%s\t%s\n", $2, who, substr($4, 1, 1), program, $5, $10, month, $8, $9, line, $3
  }' "$S/passwd" "$S/snapshots/$LOT/ps.txt" | sort > "$W/ps"
paste <(cut -f1-5 "$W/ps") <(cut -f6 "$W/ps" | date -u -f - +%s) <(cut -f7,8 "$W/ps") > "$W/records.tsv"
grep -v '^#' "$S/allowed/$LOT.txt" | sort -u > "$W/baseline.tsv"
cut -f4 "$W/records.tsv" | sort -u > "$W/here"
comm -23 "$W/here" "$W/baseline.tsv" > "$W/unexpected"
comm -13 "$W/here" "$W/baseline.tsv" > "$W/absent"
known=$(comm -12 "$W/here" "$W/baseline.tsv" | wc -l)
either=$(sort -u "$W/here" "$W/baseline.tsv" | wc -l)
quoted() { sed 's/.*/"&"/' "$1" | paste -s -d, -; }
awk -F'\t' 'FILENAME ~ /unexpected$/ { odd[$1 ""]; next } ($4 "") in odd { n++; s += $5 }
  END { printf "\"unexpected_processes\": %d, \"unexpected_rss_kb\": %.0f", n, s }' "$W/unexpected" "$W/records.tsv" > "$W/weight"
printf '{"known": %d, "unexpected": [%s], "absent": [%s], %s, "overlap_permille": %d}\n' \
  "$known" "$(quoted "$W/unexpected")" "$(quoted "$W/absent")" "$(cat "$W/weight")" "$((1000 * known / either))" > "$OUT"
rm -rf "$W"

# envolve: step s2
export LC_ALL=C
S=/app/data/s2 OUT=/app/out/s2-reach-totals.json W=$(mktemp -d)
mkdir -p "${OUT%/*}"
V=$(python3 -c 'import json; print(json.load(open("/app/out/s1-baseline-difference.json"))["unexpected_rss_kb"])' 2>/dev/null)
LOT=$(awk -F'\t' -v v="$V" 'v != "" && $1 == v % 19 { print $2 }' "$S/rota.tsv")
LOT=${LOT:-nowhere}
awk '
  /:$/ && /^\./ { folder = substr($0, 1, length($0) - 1); sub(/^\.\/?/, "", folder); next }
  /^-/ {
    reach = substr($1, 8, 1) == "r" ? "everybody" : substr($1, 5, 1) == "r" ? "group" : "owner"
    stamp = $6 " " $7 " " $8; name = $0
    for (i = 1; i <= 8; i++) sub(/^[^ ]+ +/, "", name)
    path = folder == "" ? name : folder "/" name
    print path "\t" $3 "\t" reach "\t" $4 "\t" $5 "\t" stamp
  }' "$S/listings/$LOT.txt" | sort -t "$(printf '\t')" -k1,1 > "$W/listing"
paste <(cut -f1-5 "$W/listing") <(cut -f6 "$W/listing" | date -u -f - +%s) > "$W/records.tsv"
awk -F'\t' '($3 == "everybody" || $3 == "owner") && $5 >= 5500 {
    n++; t += $5; c[$4]++; s[$4] += $5
    if (n == 1 || $5 > q || ($5 == q && $1 "" < k)) {
      q = $5 + 0; k = $1 "" }
  }
  END {
    printf "{\"matched\": %d, \"total_bytes\": %d, \"largest\": \"%s\", \"by_group\": {", n, t, k
    for (g in c) { printf "%s\"%s\": {\"count\": %d, \"total_bytes\": %d}", sep, g, c[g], s[g]; sep = ", " }
    print "}}"
  }' "$W/records.tsv" > "$OUT"
rm -rf "$W"
