#!/bin/bash
# Reference solution: one section a step, each reads what the one before it wrote.

# envolve: step s1
export LC_ALL=C
S=/app/data/s1 OUT=/app/out/s1-code-index.csv W=$(mktemp -d)
mkdir -p "${OUT%/*}"
LOT=tracker
git init -q -b main "$W/repo"
gzip -dc "$S/history/$LOT.fi.gz" | git -C "$W/repo" fast-import --quiet
git -C "$W/repo" -c mailmap.file="$S/mailmap" log --all --no-merges --use-mailmap --numstat \
  --format='@%(trailers:key=Change,valueonly,separator=%x20)%x09%aE%x09%at%x09%s%x09%(trailers:key=Depends-On,valueonly,separator=%x20)' |
  awk -F'\t' '
    function flush() { if (head != "") print head "\t" tail "\t" added }
    /^@/ {
      flush(); kind = scope = $4; sub(/\(.*/, "", kind); sub(/^[^(]*\(/, "", scope); sub(/\).*/, "", scope)
      subject = $4; sub(/^[^:]*: /, "", subject)
      head = substr($1, 2) "\t" $2 "\t" kind "\t" scope; tail = $3 "\t" subject "\t" $5; added = 0; next }
    NF == 3 { added += $1 }
    END { flush() }' | sort -u > "$W/records.tsv"
cut -f1,6 "$W/records.tsv" | python3 -c '
import re, sys
form = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2,3}-[0-9]{4}(?![A-Za-z0-9])")
for line in sys.stdin:
    key, _, text = line.rstrip("\n").partition("\t")
    for code in form.findall(text):
        print(code, key, sep="\t")
' | sort > "$W/found"
{ echo 'code,occurrences,changes,first'
  awk -F'\t' '!($1 in n) { first[$1] = $2 } { n[$1]++ } !seen[$1, $2]++ { m[$1]++ }
    END { for (c in n) print c "," n[c] "," m[c] "," first[c] }' "$W/found" | sort -t, -k2,2nr -k1,1
} > "$OUT"
rm -rf "$W"
