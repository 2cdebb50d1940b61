#!/bin/bash
# report: 20
# timeout: 2
# expect: timed-out
# Nothing but SIGKILL ends it.
trap '' HUP INT QUIT TERM USR1 USR2 ALRM
while :; do sleep 600; done
