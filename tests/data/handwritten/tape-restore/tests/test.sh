#!/bin/bash
# The reward is written whatever happens on the way.
ok=0
trap 'echo "$ok" > /logs/verifier/reward.txt' EXIT
export LC_ALL=C

if [ -L /srv/files ] || ! cd /srv/files 2> /dev/null; then
    echo "no directory /srv/files"
    exit
fi

odd=$(find . -mindepth 1 \( -type d -empty -o ! -type d ! -type f \))
if [ -n "$odd" ]; then
    echo "empty directories, or neither files nor directories:"
    echo "$odd"
    exit
fi

find . -type f -printf '%m\t%P\n' | while IFS=$'\t' read -r mode path; do
    printf '%s  %s  %s\n' "$(sha256sum < "$path" | cut -d' ' -f1)" "$mode" "$path"
done | sort > /tmp/found

if ! diff /tests/tree.txt /tmp/found; then
    echo "the tree differs"
    exit
fi

if [ "$(cat /srv/damaged.txt)" != "inc-20250305.tgz" ]; then
    echo "damaged.txt is wrong"
    exit
fi

ok=1
