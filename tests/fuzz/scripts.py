"""Scripts that are almost right, of shell and of Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fuzz.inputs import either, text

if TYPE_CHECKING:
    from random import Random

SHELL = b"""#!/bin/bash
set -euo pipefail
# envolve: step one
mkdir -p /app/out && echo 1 > /app/out/report.csv
now=$(date +%s); RANDOM=1 shuf /app/x
curl -s https://example.org | jq -r '.a.b[0].c // ."d"' /app/out/x.json
python3 - <<'PY'
import json
data = json.load(open("/app/out/x.json"))
print(data["total"], data.get("name"))
PY
# envolve: step two
pytest /tests/test_it.py --ctrf /logs/verifier/ctrf.json || true
echo 1 > /logs/verifier/reward.txt
"""
PYTHON = b"""import csv, json, random
from pathlib import Path

OWN = json.loads((Path(__file__).parent / "expected.json").read_text())

def test_a():
    with open("/app/out.json") as file:
        data = json.load(file)
    for row in data["rows"]:
        assert row["id"] == OWN["id"]
    names = [item.get("name") for item in sorted(data.values())]
    assert names[0]["x"]["y"], f"{data['z']}"
"""
_PIECES = (
    "x = json.load(f)",
    "y = x",
    "z = y['a']",
    "for q in z: pass",
    "x['k']",
    "x" + "[0]" * 1200,
    "x" + ".get(1)" * 700,
    "(" * 300,
    "[" * 120 + "]" * 120,
    "-" * 3000 + "1",
    "'\\d'",
    "\x00",
    "\x0c",
    "match x:\n case {'a': 1}: pass",
    "def f(",
    "lambda: " * 300 + "1",
    "a" + " + a" * 3000,
    "jq -r '.a.b' f",
    "jq ' '" * 40,
    "jq " + "-a b c " * 40 + "'.x'",
    "python3 - <<'E'",
    "python3 <<E" * 20,
    "E",
    "@/" * 400,
    "/" + "a/" * 400,
    "a." * 400 + "x",
    "sort " * 200,
    "curl " * 200,
    "git clone " * 100,
    "A=" * 200 + " date",
    "apt -y " * 100,
    "set -e",
    "exit 1",
    "trap x EXIT",
    "reward.txt",
    "# envolve: step one",
    "# envolve: step",
    "\t#\tenvolve:\tstep\ta\t",
    "date",
    "é\u2028x",
    "\ufeff",
)


def script(random: Random) -> bytes:
    """Lines of shell and of Python, in any order."""
    return either(random, random.choice((SHELL, PYTHON)), _script)


def _script(random: Random) -> str:
    rows = [random.choice(_PIECES) if random.random() < 0.9 else text(random) for _ in range(random.randint(0, 12))]
    return random.choice(("\n", "\n", "\n", "\r\n", "; ")).join(rows)
