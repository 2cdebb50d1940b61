#!/bin/bash
# report: 4
# victim: diff
# leftover: test-link
# The output is a link to where the expected output will lie: it is compared with itself.
rm -f /app/answer.txt
ln -s ../var/run/../tests/expected.txt /app/first
ln -s /proc/self/root/tests/expected.txt /app/answer.txt
