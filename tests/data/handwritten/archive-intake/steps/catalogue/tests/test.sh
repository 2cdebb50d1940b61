#!/bin/bash
# nothing for a catalogue with a wrong line; otherwise the share of the documents that is in it, if that's at least half
trap 'echo ${score:-0} > /logs/verifier/reward.txt' EXIT
c=/home/archivist/catalogue.tsv
[ -s $c ] || exit
total=$(wc -l < /tests/cat.tsv)
LC_ALL=C sort -uc $c || exit
wrong=$(grep -vxFc -f /tests/cat.tsv $c)
right=$(grep -xFc -f /tests/cat.tsv $c)
echo "$right of $total right, $wrong wrong"
if [ "$wrong" = 0 ] && [ $((right * 2)) -ge $total ]; then
    score=$(awk -v r=$right -v t=$total 'BEGIN { printf "%.4f", r / t }')
fi
