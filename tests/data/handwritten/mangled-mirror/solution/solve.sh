#!/bin/bash
set -euo pipefail
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
cd /srv/mirror/book.git
trunk=$(tail -n 1 logs/refs/heads/trunk | cut -d' ' -f2)
errata=$(tail -n 1 logs/refs/heads/errata | cut -d' ' -f2)
rm refs/heads/trunk
printf 'ref: refs/heads/trunk\n' > HEAD

# Loose objects whose content is damaged have to go before their good copies can come in.
for file in objects/??/*; do
    name=$(echo "$file" | tr -dc '0-9a-f' | tail -c 40)
    git cat-file -t "$name" > /dev/null 2>&1 && git cat-file "$(git cat-file -t "$name")" "$name" > /dev/null 2>&1 || rm -f "$file"
done
sed '/^$/,$d' ../book-backup.bundle > /tmp/header
tail -c +$(($(wc -c < /tmp/header) + 2)) ../book-backup.bundle | git unpack-objects -q

git update-ref refs/heads/trunk "$trunk"
git update-ref refs/heads/errata "$errata"
git fsck --full 2>&1 | awk '$1 == "dangling" && $2 == "tag" { print $3 }' | while read -r tag; do
    git cat-file tag "$tag" | grep -qx 'tag v1.1' && git update-ref refs/tags/v1.1 "$tag"
done
git fsck --full
git for-each-ref
