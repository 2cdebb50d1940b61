#!/bin/bash
cat > /tmp/judge.py <<'EOF2'
import json, os
def load(p):
    with open(p, encoding="utf-8") as f:
        return json.load(f)
want = load("/tests/expected_report.json")
try:
    got = load(os.environ.get("REPORT", "/srv/import/report.json"))
except Exception as e:
    print("cannot read the report:", e)
    got = None
good = isinstance(got, dict)
for key in want:
    same = good and got.get(key) == want[key]
    print(key, "ok" if same else "WRONG")
    good = good and same
with open("/logs/verifier/reward.json", "w") as f:
    json.dump({"reward": 1 if good else 0}, f)
EOF2
python3 -I /tmp/judge.py
