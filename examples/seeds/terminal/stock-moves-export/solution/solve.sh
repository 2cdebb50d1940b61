#!/bin/bash
# Reference solution: one section a step, each reads what the one before it wrote.

# envolve: step s1
export LC_ALL=C
S=/app/data/s1 OUT=/app/out/s1-moves-export.txt W=$(mktemp -d)
mkdir -p "${OUT%/*}"
LOT=WH-D
python3 - "$S/stock.db" "$LOT" "$W/records.tsv" <<'PY'
import sqlite3, sys
from pathlib import Path
database, lot, out = sys.argv[1:]
query = '''
  SELECT move.id, move.sku, kind, supplier.name, units,
         CASE typeof(booked_at) WHEN 'integer' THEN booked_at ELSE CAST(strftime('%s', booked_at) AS INTEGER) END, coalesce(note, '')
  FROM move JOIN item USING (sku) JOIN supplier ON supplier.id = supplier_id
  WHERE warehouse = ? AND voids IS NULL AND move.id NOT IN (SELECT voids FROM move WHERE voids IS NOT NULL)
  ORDER BY move.id'''
rows = sqlite3.connect(Path(database).as_uri() + "?immutable=1", uri=True).execute(query, (lot,))
with open(out, "w", encoding="utf-8") as lines:
    lines.writelines("\t".join(map(str, row)) + "\n" for row in rows)
PY
awk -F'\t' '$5 > 0 {
    kind = toupper($3); gsub(/[^A-Z0-9]/, "_", kind)
    printf "D;%s;%010d;%s\n", kind, $5, $1 }' "$W/records.tsv" |
  sort -t ';' -k2,2 -k3,3n -k4,4 > "$W/lines"
awk -F'[;]' '{ print; n++; s += $3 } END { printf "T;%06d;%012d;%02d\n", n, s, s % 89 }' "$W/lines" > "$OUT"
rm -rf "$W"
