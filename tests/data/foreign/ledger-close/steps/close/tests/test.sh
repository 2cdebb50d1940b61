#!/bin/bash
# Two checks, half a point each.
mkdir -p /logs/verifier
passed=0

if diff - /books/close/2025-04.txt <<'REPORT'
account      movements      balance
4000                 2      1981.00
4100                 1        19.00
4900                 1        75.25
6000                 1     -2000.00
6010                 1      -400.00
6100                 1     -1000.00
6155                 1      -250.00
6800                 1        -6.90
total                9     -1581.65
REPORT
then
    passed=$((passed + 1))
fi

if python3 -I - <<'PYTHON'
import sqlite3

rows = sqlite3.connect("file:/books/ledger.db?mode=ro", uri=True).execute("SELECT * FROM closed").fetchall()
raise SystemExit(rows != [("2025-04", 9, -158165)])
PYTHON
then
    passed=$((passed + 1))
fi

case $passed in
    2) echo 1.0 ;;
    1) echo 0.5 ;;
    *) echo 0.0 ;;
esac > /logs/verifier/reward.txt
