#!/bin/bash
# report: 17
# timeout: 3
# expect: timed-out
# truncated: yes
# starts: y
exec yes
