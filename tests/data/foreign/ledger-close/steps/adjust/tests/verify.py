"""Half of the reward for the old movements, a quarter each for the new ones and for what was refused."""

import json
import pathlib
import sqlite3

OLD = [(1, -100000, "6100"), (2, 98050, "4000"), (3, 100050, "4000"), (4, -690, "6800"), (5, -200000, "6000"), (6, 7525, "4900")]
NEW = [
    (7, "2025-04-01", -25000, "6155", "APRIL"),
    (8, "2025-04-28", -40000, "6010", "APR"),
    (9, "2025-04-07", 1900, "4100", "2292"),
]
reward = 0.0
try:
    ledger = sqlite3.connect("file:/books/ledger.db?mode=ro", uri=True)
    old = ledger.execute("SELECT id, cents, account FROM movements WHERE id <= 6 ORDER BY id").fetchall()
    new = ledger.execute("SELECT id, day, cents, account, reference FROM movements WHERE id > 6 ORDER BY id").fetchall()
    reward += 0.5 * (old == OLD) + 0.25 * (new == NEW)
except sqlite3.Error as error:
    print(error)
refused = pathlib.Path("/books/refused.txt")
if refused.is_file() and refused.read_text().split() == ["4", "5"]:
    reward += 0.25
logs = pathlib.Path("/logs/verifier")
logs.mkdir(parents=True, exist_ok=True)
(logs / "reward.json").write_text(json.dumps({"reward": reward}))
