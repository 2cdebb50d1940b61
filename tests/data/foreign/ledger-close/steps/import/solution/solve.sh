#!/bin/bash
set -euo pipefail
python3 - <<'PYTHON'
import csv
import re
import sqlite3

with open("/books/accounts.csv", newline="") as stream:
    accounts = {row["prefix"]: row["account"] for row in csv.DictReader(stream)}
rows = []
with open("/books/statement.txt") as stream:
    for line in stream:
        match = re.match(r":61:(\d\d)(\d\d)(\d\d)\d{4}([DC])(\d+),(\d{1,2})([A-Z]+)//(.*)", line)
        if not match or match[1] + match[2] != "2504":
            continue
        cents = int(match[5]) * 100 + int(match[6].ljust(2, "0"))
        day = f"20{match[1]}-{match[2]}-{match[3]}"
        rows.append((day, -cents if match[4] == "D" else cents, accounts.get(match[7], "9999"), match[8].strip()))
with sqlite3.connect("/books/ledger.db") as ledger:
    ledger.execute("DROP TABLE IF EXISTS movements")
    ledger.execute(
        "CREATE TABLE movements(id INTEGER PRIMARY KEY, day TEXT, cents INTEGER, account TEXT, reference TEXT)"
    )
    ledger.executemany("INSERT INTO movements(day, cents, account, reference) VALUES (?, ?, ?, ?)", rows)
PYTHON
