#!/bin/bash
# report: 20, 22
# limits: storage_mb=64
# timeout: 60
# expect: failed
# cleanup: rm -rf /app/fill
# Many files, each small; as many as fit, and then for ever.
mkdir -p /app/fill
n=0
while [ $n -lt 2000 ]; do
    head -c 1M /dev/urandom > "/app/fill/$n" || exit 1
    n=$((n + 1))
done
sleep 30
