#!/bin/bash
# report: 7
# victim: diff
# leftover: -
# timeout: 2
# expect: 1
# naive: -
# The work is done; then the agent dawdles until its time is up. It gets what it earned.
cp /app/question.txt /app/answer.txt
sleep 600
