#!/bin/bash
# No reward but 0 until every test has passed.
mkdir -p /logs/verifier
reward=0
trap 'echo $reward > /logs/verifier/reward.txt' EXIT

cd /tests
python3 -m unittest -v cases 2>&1 | tail -n 60
[ "${PIPESTATUS[0]}" -eq 0 ] && reward=1
