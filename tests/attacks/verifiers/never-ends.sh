#!/bin/bash
# report: 6
# code: timeout
# timeout: 2
echo 1 > /logs/verifier/reward.txt
sleep 600
