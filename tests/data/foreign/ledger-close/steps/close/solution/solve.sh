#!/bin/bash
set -euo pipefail
mkdir -p /books/close
python3 - <<'PYTHON'
import sqlite3

def line(first, second, third):
    return f"{first:<12}{second:>10}{third:>13}\n"

with sqlite3.connect("/books/ledger.db") as ledger:
    accounts = ledger.execute("SELECT account, count(*), sum(cents) FROM movements GROUP BY account ORDER BY account").fetchall()
    count, cents = ledger.execute("SELECT count(*), sum(cents) FROM movements").fetchone()
    ledger.execute("DROP TABLE IF EXISTS closed")
    ledger.execute("CREATE TABLE closed(month TEXT, movements INTEGER, cents INTEGER)")
    ledger.execute("INSERT INTO closed VALUES ('2025-04', ?, ?)", (count, cents))

with open("/books/close/2025-04.txt", "w") as stream:
    stream.write(line("account", "movements", "balance"))
    for account, number, balance in [*accounts, ("total", count, cents)]:
        stream.write(line(account, number, f"{balance / 100:.2f}"))
PYTHON
