#!/bin/bash
# report: 6
# code: missing
set -e
false
echo 1 > /logs/verifier/reward.txt
