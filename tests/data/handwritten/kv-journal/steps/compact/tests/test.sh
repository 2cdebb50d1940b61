#!/bin/bash
mkdir -p /logs/verifier
python3 -I -B /tests/verify.py && verdict=1 || verdict=0
echo $verdict > /logs/verifier/reward.txt
