#!/bin/bash
# report: 16
# timeout: 2
# expect: timed-out
# The image has no program `timeout`, nor kill, nor ps.
for tool in timeout kill pkill ps; do rm -f "/usr/bin/$tool" "/bin/$tool"; done
sleep 600
