"""Scores the three reports; the reward is the share of checks that pass."""

import json
import pathlib

OUT = pathlib.Path("/app/out")
EXPECTED = [
    ("central", "EX-500", 0, 1),
    ("east", "DX-400", 100, 97),
    ("east", "EX-500", 0, 4),
    ("north", "BX-200", 20, 18),
    ("west", "AX-100", 18, 0),
    ("west", "CX-300", -1, 0),
]
SUMMARY = [
    "central: 1 discrepancies, net +1",
    "east: 2 discrepancies, net +1",
    "north: 1 discrepancies, net -2",
    "south: 0 discrepancies, net +0",
    "west: 2 discrepancies, net -17",
]


def discrepancies():
    rows = json.loads((OUT / "discrepancies.json").read_text())
    return [(r["warehouse"], r["sku"], r["booked"], r["counted"], r["difference"]) for r in rows]


def check_which_items_differ():
    assert [row[:2] for row in discrepancies()] == [row[:2] for row in EXPECTED]


def check_quantities():
    assert [row[2:4] for row in discrepancies()] == [row[2:] for row in EXPECTED]


def check_differences():
    rows = discrepancies()
    assert rows
    assert [row[4] for row in rows] == [counted - booked for _, _, booked, counted in EXPECTED]


def check_summary():
    assert (OUT / "summary.txt").read_text().splitlines() == SUMMARY


def check_unknown_items():
    assert (OUT / "unknown_skus.txt").read_text().split("\n") == ["QQ-777", "YY-888", "ZZ-999", ""]


CHECKS = [check_which_items_differ, check_quantities, check_differences, check_summary, check_unknown_items]

passed = 0
for check in CHECKS:
    try:
        check()
    except (AssertionError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        print(f"FAIL {check.__name__}: {type(error).__name__} {error}")
    else:
        print(f"PASS {check.__name__}")
        passed += 1

logs = pathlib.Path("/logs/verifier")
logs.mkdir(parents=True, exist_ok=True)
(logs / "reward.txt").write_text(f"{passed / len(CHECKS)}\n")
