#!/bin/bash
cd /srv/queue
: > rejected.txt
sed -E 's/[[:blank:]]*#.*//; /^$/d' patches/series > /tmp/series
while read -r p; do
    rm -rf /tmp/try && cp -r tree /tmp/try
    out=$(patch -d /tmp/try -p1 -F0 -N --no-backup-if-mismatch -r - < "patches/$p" 2>&1)
    if [ $? -eq 0 ] && ! grep -q offset <<< "$out"; then
        rm -rf tree && cp -r /tmp/try tree
    else
        echo "$p" >> rejected.txt
    fi
done < /tmp/series
