#!/bin/bash
want=$(mktemp -d)
tar -xzf /tests/expected.tgz -C "$want"
if diff -r "$want" /app/merge/out; then
    verdict=1
else
    verdict=0
fi
rm -rf "$want"
echo "reward: $verdict"
echo "$verdict" > /logs/verifier/reward.txt
