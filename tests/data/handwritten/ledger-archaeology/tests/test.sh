#!/bin/bash
cd /
A=/srv/answers
score=0
[ "$(sha256sum < $A/2019.csv)" = "622ad60f09c5f9a75958977ae1d174cd4a637c5bdd5741f34deeaa2310e5bb5c  -" ] && score=$((score + 1)) || echo "2019.csv: wrong"
printf '923c742e0af8301501915206cc57845a05fcbab0\n' | cmp - $A/culprit.txt && score=$((score + 1))
printf '21\tBram Kok\n10\tAda Osei\n8\tChidi Eze\n' | cmp - $A/people.tsv && score=$((score + 1))
mkdir -p /logs/verifier
[ $score -eq 3 ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt
