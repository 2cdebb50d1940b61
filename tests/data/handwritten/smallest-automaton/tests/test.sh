#!/bin/bash
mkdir -p /logs/verifier
RESULT=0
trap 'echo "$RESULT" > /logs/verifier/reward.txt' EXIT
python3 -I /tests/equivalent.py && RESULT=1
exit 0
