#!/bin/bash
mkdir -p /logs/verifier
if python3 /tests/check_loading.py /home/user/depot /tests/parcels.csv; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
