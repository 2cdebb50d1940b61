#!/bin/bash
# Reference solution: one section a step, each reads what the one before it wrote.

# envolve: step s1
export LC_ALL=C
S=/app/data/s1 OUT=/app/out/s1-top-source.csv W=$(mktemp -d)
mkdir -p "${OUT%/*}"
LOT=scanner
gzip -dc "$S/status/$LOT.gz" | awk '
  function flush(   i, n, part, name, refs, kept) {
    if (state ~ / installed$/ && pkg != "") {
      n = split(depends, part, /, */); refs = ""
      for (i = 1; i <= n; i++) { name = part[i]; sub(/ *\|.*/, "", name); sub(/ *\(.*/, "", name); sub(/:any$/, "", name)
        if (name != "") print name | "sort > \"" work "/refs\"" }
      close("sort > \"" work "/refs\"")
      while (n > 0 && (getline name < (work "/refs")) > 0) refs = refs (refs == "" ? "" : " ") name
      close(work "/refs")
      print pkg "\t" (source == "" ? pkg : source) "\t" section "\t" priority "\t" size "\t" refs "\t" synopsis
    }
    pkg = source = section = priority = size = depends = synopsis = state = field = ""
  }
  /^$/ { flush(); next }
  /^[ \t]/ { if (field == "Depends") { sub(/^[ \t]+/, ""); depends = depends " " $0 } next }
  {
    field = $0; sub(/:.*/, "", field); value = $0; sub(/^[^:]*: */, "", value)
    if (field == "Package") pkg = value
    else if (field == "Status") state = value
    else if (field == "Section") section = value
    else if (field == "Priority") priority = value
    else if (field == "Installed-Size") size = value
    else if (field == "Depends") depends = value
    else if (field == "Description") synopsis = value
    else if (field == "Source") { source = value; sub(/ *\(.*/, "", source) }
  }
  END { flush() }' work="$W" | sort -t "$(printf '\t')" -k1,1 > "$W/records.tsv"
{ echo 'rank,source,count,total_size_kib'
  awk -F'\t' '{ n[$2]++; s[$2] += $5 }
    END { for (e in n) print n[e] "\t" s[e] "\t" e }' "$W/records.tsv" |
    sort -t "$(printf '\t')" -k1,1nr -k2,2nr -k3,3 |
    awk -F'\t' '$1 != last { rank = NR; last = $1 } rank > 3 { exit } { print rank "," $3 "," $1 "," $2 }'
} > "$OUT"
rm -rf "$W"
