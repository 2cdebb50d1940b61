#!/bin/bash
result=$(python3 -I /tests/check.py 2>&1)
echo "$result"
case "$result" in
    *"VERDICT pass") echo 1 > /logs/verifier/reward.txt ;;
    *) echo 0 > /logs/verifier/reward.txt ;;
esac
