#!/bin/bash
set -e
export LC_ALL=C
cd /home/user/inbox
find . -type f -size +0 -printf '%P\n' | while IFS= read -r f; do
    printf '%s\t%05d\t%s\n' "$(sha256sum < "$f" | cut -c1-64)" "${#f}" "$f"
done | sort | awk -F'\t' '$1 == last { print $3 "\t" kept; next } { last = $1; kept = $3 }' | sort > ../removed.tsv
cut -f1 ../removed.tsv | while IFS= read -r f; do rm -- "$f"; done
find . -mindepth 1 -depth -type d -empty -delete
