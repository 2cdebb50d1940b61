#!/bin/bash
# report: 5
# victim: writes-late
# naive: uncleared
# expect: none
# leftover: logs-folder
# /logs/verifier leads to a folder of the agent's with a reward in it.
mkdir -p /logs /app/verifier
echo '{"reward": 1}' > /app/verifier/reward.json
rm -rf /logs/verifier
ln -s /app/verifier /logs/verifier
