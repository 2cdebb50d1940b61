#!/bin/bash
# usage: test.sh  -> /logs/verifier/reward.txt
reward=0
finish() { echo "$reward" > /logs/verifier/reward.txt; }
trap finish EXIT

reward=$(python3 -I - /home/user/threads.json /tests/threads.json <<'PY'
import json, sys

KEYS = ["root"], ["subject", "started"], ["size", "authors"], ["depth"], ["order"]
right = 0
try:
    with open(sys.argv[1], encoding="utf-8-sig") as f:
        got = json.load(f)
    with open(sys.argv[2], encoding="utf-8") as f:
        want = json.load(f)
    for keys in KEYS:
        ok = [[t[k] for k in keys] for t in got] == [[t[k] for k in keys] for t in want]
        print("ok " if ok else "bad", *keys, file=sys.stderr)
        right += ok
except Exception as e:
    print("unreadable:", e, file=sys.stderr)
    right = 0
print(f"{right / len(KEYS):.1f}")
PY
)
