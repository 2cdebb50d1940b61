#!/bin/bash
# report: 12
# code: not-a-file
head -c 10M /dev/zero | tr '\0' 1 > /logs/verifier/reward.txt
