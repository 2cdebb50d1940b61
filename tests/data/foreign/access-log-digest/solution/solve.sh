#!/bin/bash
set -euo pipefail
export LC_ALL=C

mkdir -p /app/report

# Fields between double quotes: $1 client and date, $2 request, $3 status and size.
awk -F'"' '
    split($2, request, " ") == 3 {
        split($3, answer, " ")
        path = request[2]
        sub(/\?.*/, "", path)
        hits[path]++
        errors[path] += (answer[1] >= 400)
        if (answer[2] != "-") bytes[path] += answer[2]
    }
    END { for (path in hits) printf "%s,%d,%d,%d\n", path, hits[path], errors[path], bytes[path] }
' /app/data/access.log | sort -t, -k2,2nr -k1,1 > /tmp/rows.csv

{ echo "path,hits,errors,bytes"; cat /tmp/rows.csv; } > /app/report/summary.csv

awk -F'"' '
    split($2, request, " ") == 3 {
        split($3, answer, " ")
        split($1, who, " ")
        if (answer[1] >= 500) failed[who[1]]++
    }
    END { for (client in failed) print failed[client], client }
' /app/data/access.log | sort -k1,1nr | head -n 1 | cut -d' ' -f2 > /app/report/worst_client.txt
