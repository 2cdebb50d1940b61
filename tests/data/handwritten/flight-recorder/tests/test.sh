#!/bin/bash
# Reward 1 if the track is right to the byte and the summary says the same as ours.
reward() { mkdir -p /logs/verifier; echo "$1" | tee /logs/verifier/reward.txt; exit; }

cmp /app/decoded/track.csv /tests/track.csv || reward 0
python3 -c '
import json, sys
mine, theirs = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:])
sys.exit(mine != theirs or type(theirs["skipped"]) is not int)
' /tests/summary.json /app/decoded/summary.json || reward 0
reward 1
