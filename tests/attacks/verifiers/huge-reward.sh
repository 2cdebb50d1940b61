#!/bin/bash
# report: 12
# code: not-a-file
truncate -s 8G /logs/verifier/reward.txt || head -c 900M /dev/zero > /logs/verifier/reward.txt
