#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'PYTHON'
import json

expected = {
    "2025/heron": {"title": "Grey heron", "date": "2025-03-01", "tags": ["birds"]},
    "2025/mink": {"title": "Mink: a rival", "date": "2025-02-14", "tags": []},
    "mill": {"title": "mill", "date": None, "tags": []},
    "otters": {"title": "River otters", "date": "2024-11-02", "tags": ["mammals", "water"]},
    "weir": {"title": "The old weir", "date": None, "tags": ["places", "water"]},
}
with open("/app/index/notes.json") as stream:
    found = json.load(stream)
for name in sorted({*expected, *found}):
    if expected.get(name) != found.get(name):
        raise SystemExit(f"{name}: expected {expected.get(name)}, found {found.get(name)}")
PYTHON
then
    echo 1 > /logs/verifier/reward.txt
else
    echo 0 > /logs/verifier/reward.txt
fi
