#!/bin/bash
# report: 5
# victim: diff
# leftover: tests-folder
# naive: -
# /tests leads to a folder of the agent's, full of tests that pass and that nobody may write.
mkdir -p /app/mine
rm -rf /tests
ln -s /app/mine /tests
echo wrong > /app/answer.txt
cp /app/answer.txt /app/mine/expected.txt
