#!/bin/bash
set -u
cp /app/library.db /tmp/after.db 2>/dev/null
if python3 -I /tests/compare.py /tests/before.db /tmp/after.db; then echo 1; else echo 0; fi > /tmp/verdict
tail -n 1 /tmp/verdict > /logs/verifier/reward.txt
cat /tmp/verdict
