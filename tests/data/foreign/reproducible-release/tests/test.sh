#!/bin/bash
# 1 when the archive keeps every rule of the instruction, else 0.
export LC_ALL=C TZ=UTC
dist=/srv/releases/acme/dist
archive=$dist/acme-2.7.1.tar.gz
scratch=$(mktemp -d)
failures=0

expect() {
    if [ "$2" = "$3" ]; then
        echo "ok: $1"
    else
        printf 'FAILED: %s\nexpected:\n%s\nfound:\n%s\n' "$1" "$2" "$3"
        failures=$((failures + 1))
    fi
}

listing='-rw-r--r-- 0/0 2025-01-01 00:00 acme-2.7.1/VERSION
-rw-r--r-- 0/0 2025-01-01 00:00 acme-2.7.1/docs/changes.txt
-rw-r--r-- 0/0 2025-01-01 00:00 acme-2.7.1/docs/user guide.txt
-rwxr-xr-x 0/0 2025-01-01 00:00 acme-2.7.1/install.sh
-rw-r--r-- 0/0 2025-01-01 00:00 acme-2.7.1/src/Zlib.c
-rw-r--r-- 0/0 2025-01-01 00:00 acme-2.7.1/src/core.c
-rwxr-xr-x 0/0 2025-01-01 00:00 acme-2.7.1/src/net/poll.sh
-rw-r--r-- 0/0 2025-01-01 00:00 acme-2.7.1/src/net/socket.c'

expect "members, modes, owners, times" "$listing" \
    "$(tar --numeric-owner -tvzf "$archive" 2>&1 | sed -E 's/^(\S+) +(\S+) +[0-9]+ +/\1 \2 /')"
# Flags 0 (no file name) and four zero bytes of time.
expect "gzip header" "1f 8b 08 00 00 00 00 00" "$(od -An -tx1 -N8 "$archive" 2>&1 | sed 's/^ *//')"
expect "missing files" $'LICENCE.txt\ndocs/reference.html' "$(sort "$dist/missing.txt" 2>&1)"
expect "first missing file" "docs/reference.html" "$(head -n 1 "$dist/missing.txt" 2>&1)"
expect "names in SHA256SUMS" "$(sed -E 's/^(\S+ ){4}//' <<< "$listing")" "$(cut -c67- "$dist/SHA256SUMS" 2>&1)"

tar -xzf "$archive" -C "$scratch" 2>&1
(cd "$scratch" && sha256sum --strict --quiet -c "$dist/SHA256SUMS" 2>&1)
expect "sha256sum -c" 0 $?
digest=$(cat "$scratch"/acme-2.7.1/{src/core.c,src/Zlib.c,src/net/socket.c,docs/changes.txt} 2> /dev/null | sha256sum | cut -c1-64)
expect "contents" "cb219a335fbbc367e5ef7380f1abbe9cd9e1fe65918a4050e973ec706fdb4382" "$digest"

mkdir -p /logs/verifier
if [ "$failures" = 0 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
rm -rf "$scratch"
