#!/bin/bash
# report: 5
# victim: writes-late
# expect: none
# leftover: reward-file
# naive: -
# The reward files are links to files of the agent's.
mkdir -p /logs/verifier
echo 1 > /app/one
ln -sf /app/one /logs/verifier/reward.txt
ln -sf /app/one /logs/verifier/reward.json
