#!/bin/bash
set -euo pipefail
umask 022
cd /srv/site
mkdir -p releases shared/uploads
chmod 755 releases shared
chmod 2775 shared/uploads
for source in incoming/site-*/; do
    version=$(basename "$source"); version=${version#site-}
    cp -r "$source" "releases/$version"
    ln -s ../../shared/uploads "releases/$version/uploads"
done
find releases -type d -exec chmod 755 {} +
find releases -type f -exec chmod 644 {} +
find releases -path '*/bin/*' -type f -exec chmod 755 {} +
find releases -name secret.env -exec chmod 640 {} +

declare -A first
while IFS= read -r file; do
    key="${file#releases/*/} $(sha256sum < "$file")"
    if [ -n "${first[$key]:-}" ]; then ln -f "${first[$key]}" "$file"; else first[$key]=$file; fi
done < <(find releases -type f | sort)

mapfile -t versions < <(ls releases | sort -Vr)
ln -sfn "releases/${versions[0]}" current
ln -sfn "releases/${versions[1]}" previous
