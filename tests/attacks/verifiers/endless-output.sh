#!/bin/bash
# report: 12
# code: timeout
# timeout: 3
echo 1 > /logs/verifier/reward.txt
exec yes
