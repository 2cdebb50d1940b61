#!/bin/bash
# Whole hundredths of a millimetre: every value is a multiple of 0.01 mm.
cd "$RAW_DIR"
awk '
function even(p, q,  f, r) { f = int(p / q); if (p < 0 && f * q != p) f--; r = 2 * (p - f * q); if (r > q || (r == q && f % 2)) f++; return f }
function whole(s,  neg, a) { neg = s ~ /^-/; sub(/^-/, "", s); split(s, a, "."); a[2] = substr(a[2] "00", 1, 2); return (a[1] * 100 + a[2]) * (neg ? -1 : 1) }
BEGIN { unit["m"] = 10000; unit["cm"] = 100; unit["mm"] = 10; unit["ft"] = 3048; unit["in"] = 254 }
/^#/ || /flag=M/ { next }
{
    line = $0; sub(/^[^=]*=/, "", line); match(line, /^[-0-9.]+/)
    if (RLENGTH < 1) next
    v = substr(line, 1, RLENGTH); u = substr(line, RLENGTH + 1); sub(/^ +/, "", u); sub(/ .*/, "", u)
    if (v == "-99.9") next
    x = whole(v) * unit[u]               # thousandths of a millimetre
    s = toupper(FILENAME); sub(/\.OBS$/, "", s); k = s " " substr($0, 1, 10)
    if (!(k in n) || x < lo[k]) lo[k] = x
    if (!(k in n) || x > hi[k]) hi[k] = x
    n[k]++; sum[k] += x
}
END { for (k in n) print k, n[k], even(lo[k], 1000), even(hi[k], 1000), even(sum[k], 1000 * n[k]) }' *.obs | sort | awk '
$1 != s { printf "%s\"%s\": {", s == "" ? "{" : "},\n", $1; s = $1; c = "" }
{ printf "%s\"%s\": {\"n\": %d, \"min_mm\": %d, \"max_mm\": %d, \"mean_mm\": %d}", c, $2, $3, $4, $5, $6; c = ", " }
END { print "}}" }' > "$RESULT"
