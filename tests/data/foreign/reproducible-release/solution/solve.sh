#!/bin/bash
set -euo pipefail
export LC_ALL=C
cd /srv/releases/acme
version=$(cat VERSION)
name="acme-$version"
mkdir -p dist
: > dist/missing.txt

stage=$(mktemp -d)
while IFS= read -r path || [ -n "$path" ]; do
    case $path in '' | '#'*) continue ;; esac
    if [ ! -f "$path" ]; then
        printf '%s\n' "$path" >> dist/missing.txt
        continue
    fi
    mkdir -p "$stage/$name/$(dirname "$path")"
    cp "$path" "$stage/$name/$path"
    case $path in *.sh) chmod 755 "$stage/$name/$path" ;; *) chmod 644 "$stage/$name/$path" ;; esac
done < MANIFEST

cd "$stage"
find "$name" -type f | sort > members
tar --create --no-recursion --files-from members --format=ustar --owner=0 --group=0 --numeric-owner \
    --mtime='2025-01-01 00:00:00 UTC' | gzip -n -9 > "/srv/releases/acme/dist/$name.tar.gz"
while IFS= read -r member; do
    sha256sum "$member"
done < members > /srv/releases/acme/dist/SHA256SUMS
rm -r "$stage"
