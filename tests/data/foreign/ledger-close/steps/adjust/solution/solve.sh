#!/bin/bash
set -euo pipefail
python3 - <<'PYTHON'
import csv
import sqlite3

refused = []
with sqlite3.connect("/books/ledger.db") as ledger, open("/books/incoming/adjustments.csv", newline="") as stream:
    for number, row in enumerate(csv.DictReader(stream), start=2):
        movement = ledger.execute("SELECT day, cents, reference FROM movements WHERE id = ?", (row["id"],)).fetchone()
        if movement is None:
            refused.append(number)
        elif row["action"] == "reclass":
            ledger.execute("UPDATE movements SET account = ? WHERE id = ?", (row["value"], row["id"]))
        else:
            day, cents, reference = movement
            account, euros = row["value"].split(":")
            part = int(euros) * 100
            if part > abs(cents):
                refused.append(number)
                continue
            part = part if cents > 0 else -part
            ledger.execute("UPDATE movements SET cents = cents - ? WHERE id = ?", (part, row["id"]))
            ledger.execute(
                "INSERT INTO movements(id, day, cents, account, reference) "
                "SELECT max(id) + 1, ?, ?, ?, ? FROM movements",
                (day, part, account, reference),
            )
with open("/books/refused.txt", "w") as stream:
    stream.writelines(f"{number}\n" for number in refused)
PYTHON
