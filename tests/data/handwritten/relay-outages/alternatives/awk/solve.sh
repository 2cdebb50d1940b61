#!/bin/bash
# No python: awk does it, dates become seconds through day numbers.
cd /srv/monitor/logs || exit 1
{ zcat links.log.2.gz; cat links.log.1 links.log; } | awk '!seen[$0]++' |
awk '
function iso(m, d, c) { return (m == "Dec" ? "2024-12-" : "2025-01-") sprintf("%02d", d) "T" c }
function secs(m, d, c,   p) { split(c, p, ":"); return ((m == "Dec" ? d : d + 31) * 24 + p[1]) * 3600 + p[2] * 60 + p[3] }
$5 ~ /^linkmon\[[0-9]+\]:$/ && $6 == "port" && $7 ~ /:$/ && ($8 == "UP" || $8 == "DOWN") && ($9 == "" || $9 ~ /^\(/) {
    p = $7; sub(/:$/, "", p); k = $4 "," p
    if ($8 == "DOWN" && !(k in at)) { at[k] = secs($1, $2, $3); from[k] = iso($1, $2, $3) }
    if ($8 == "UP" && (k in at)) { print k "," from[k] "," iso($1, $2, $3) "," secs($1, $2, $3) - at[k]; delete at[k] }
}
END { for (k in at) print k "," from[k] ",," }
' | LC_ALL=C sort -t, -k3,3 -k1,1 -k2,2 > /tmp/rows
(echo host,port,start,end,seconds; cat /tmp/rows) > ../outages.csv
