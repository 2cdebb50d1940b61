#!/bin/bash
# report: 15
# timeout: 2
# expect: timed-out
# still: /app/heartbeat
# A child in a session of its own, one that ignores every signal it can, and a daemon: each goes on when its parent ends.
beat() { trap '' HUP INT QUIT TERM; while :; do date +%N >> /app/heartbeat; sleep 0.05; done; }
export -f beat
setsid bash -c beat < /dev/null > /dev/null 2>&1 &
nohup bash -c beat < /dev/null > /dev/null 2>&1 &
( ( beat < /dev/null > /dev/null 2>&1 & ) & )
trap '' HUP INT QUIT TERM
while :; do sleep 1; done
