#!/bin/bash
# Writes 1 when both reports are exactly right, else 0.

reward=1

check() {
    if cmp -s "$1" "$2"; then
        echo "ok: $1"
    else
        echo "wrong: $1"
        diff "$2" "$1" | head -n 20
        reward=0
    fi
}

check /app/report/summary.csv /tests/expected/summary.csv
check /app/report/worst_client.txt /tests/expected/worst_client.txt

mkdir -p /logs/verifier
echo "$reward" > /logs/verifier/reward.txt
