#!/usr/bin/env bash
# A third of the reward for each file whose jobs are forecast correctly, nothing at all unless the lines are well-formed
# and in the order of time; the full reward only for the exact file.
set -uo pipefail
want=$(mktemp); got=$(mktemp)
score=0.0
trap 'printf "%s\n" "$score" > /logs/verifier/reward.txt; rm -f "$want" "$got"' EXIT

zcat /tests/forecast.gz > "$want"
cat /opt/old-server/forecast.tsv > "$got" || exit 0
# a missing last newline is forgiven
[ -z "$(tail -c 1 "$got")" ] || echo >> "$got"

if grep -qvP '^2024-0[23]-\d\d \d\d:\d\d\t[a-z]+\t[a-z-]+\t.+$' "$got" || [ ! -s "$got" ]; then
    echo "malformed lines, or none"
    exit 0
fi
cut -f1 "$got" | LC_ALL=C sort -c || exit 0

right=0
for file in backup mail web; do
    if cmp <(awk -F'\t' -v f=$file '$2 == f' "$want") <(awk -F'\t' -v f=$file '$2 == f' "$got"); then
        echo "$file: right"
        right=$((right + 1))
    fi
done
case $right in
    1) score=0.3 ;;
    2) score=0.6 ;;
    3) score=0.9; cmp "$want" "$got" && score=1.0 ;;
esac
