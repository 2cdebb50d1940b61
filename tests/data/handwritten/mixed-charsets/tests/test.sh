#!/bin/bash
# Compares digests of everything below utf8, and the report.
cd /srv/texts || true
mkdir -p /logs/verifier
{
    [ -d utf8 ] && [ ! -L utf8 ] && (cd utf8 && find . ! -type d | LC_ALL=C sort | while IFS= read -r f; do
        [ -L "$f" ] && echo "link $f" || sha256sum "$f"
    done)
    echo "-- report"
    cat report.tsv
} > /tmp/found 2>&1
if diff /tests/expected.txt /tmp/found; then R=1; else R=0; fi
echo $R > /logs/verifier/reward.txt
