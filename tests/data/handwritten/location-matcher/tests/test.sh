#!/bin/bash
# Each case counts; the program has ten seconds for each.
mkdir -p /logs/verifier
scratch=$(mktemp -d)
cp -r /tests/cases "$scratch/cases"
python3 -I /tests/many.py "$scratch/cases"

good=1
for config in "$scratch"/cases/*.conf; do
    name=${config%.conf}
    if timeout 10 /srv/proxy/whereto "$config" < "$name.requests" > "$scratch/found" && cmp "$scratch/found" "$name.expected"; then
        echo "pass ${name##*/}"
    else
        echo "FAIL ${name##*/}"
        good=0
    fi
done
[ -s "$scratch/cases/many.expected" ] || good=0
echo $good > /logs/verifier/reward.txt
