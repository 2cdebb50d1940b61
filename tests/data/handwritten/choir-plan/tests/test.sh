#!/bin/bash
mkdir -p /logs/verifier
python3 -I /tests/judge.py || echo 0 > /logs/verifier/reward.txt
