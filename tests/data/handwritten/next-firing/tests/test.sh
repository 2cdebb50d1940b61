#!/bin/bash
mkdir -p /logs/verifier
rm -f /logs/verifier/reward.txt
python3 /tests/run_cases.py /tests/cases.txt > /logs/verifier/cases.log 2>&1
status=$?
tail -n 50 /logs/verifier/cases.log
if [ $status -eq 0 ]; then printf 1; else printf 0; fi > /logs/verifier/reward.txt
