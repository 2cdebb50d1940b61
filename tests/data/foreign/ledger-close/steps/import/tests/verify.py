import pathlib
import sqlite3

EXPECTED = [
    (1, "2025-04-01", -125000, "6100", "APRIL"),
    (2, "2025-04-03", 98050, "4000", "2291"),
    (3, "2025-04-07", 101950, "4000", "2292"),
    (4, "2025-04-15", -690, "6800", "CARD"),
    (5, "2025-04-28", -240000, "6000", "APR"),
    (6, "2025-04-29", 7525, "9999", "UNKNOWN"),
]
reward = 0
try:
    ledger = sqlite3.connect("file:/books/ledger.db?mode=ro", uri=True)
    found = ledger.execute("SELECT id, day, cents, account, reference FROM movements ORDER BY id").fetchall()
    reward = int(found == EXPECTED)
    print(found)
except sqlite3.Error as error:
    print(error)
logs = pathlib.Path("/logs/verifier")
logs.mkdir(parents=True, exist_ok=True)
(logs / "reward.txt").write_text(f"{reward}\n")
