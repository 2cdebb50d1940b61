#!/bin/bash
# od for the numbers, iconv for the text
mkdir -p /app/out; cd /app/out
iconv -f IBM037 -t LATIN1 ../in/LEDGER.DAT 2> /dev/null | od -An -v -tu1 -w31 > /tmp/text
od -An -v -tx1 -w31 ../in/LEDGER.DAT > /tmp/hex
paste -d' ' /tmp/text /tmp/hex | awk '
function money(c,  s) { s = c < 0 ? "-" : ""; if (c < 0) c = -c; return sprintf("%s%d.%02d", s, int(c / 100), c % 100) }
function leap(y) { return (y % 4 == 0 && y % 100) || y % 400 == 0 }
function hex(s,  i, v) { for (i = 1; i <= length(s); i++) v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1; return v }
BEGIN { print "kind,account,name,date,amount,branch"; split("31 28 31 30 31 30 31 31 30 31 30 31", len) }
{
    kind = sprintf("%c", $1); if (kind !~ /[AB]/) next
    acc = name = ""
    for (i = 2; i <= 7; i++) acc = acc sprintf("%c", $i)
    for (i = 8; i <= 21; i++) name = name sprintf("%c", $i)
    sub(/ +$/, "", name)
    d = $53 $54 $55; y = substr(d, 1, 2) + 0; y += y > 68 ? 1900 : 2000; n = substr(d, 3, 3) + 0
    for (m = 1; n > len[m] + (m == 2 && leap(y)); m++) n -= len[m] + (m == 2 && leap(y))
    a = $56 $57 $58 $59 $60; c = substr(a, 1, 9) + 0; if (substr(a, 10) == "d") c = -c
    b = hex($61 $62); tot[b] += c
    printf "%s,%s,\"%s\",%04d-%02d-%02d,%s,%d\n", kind, acc, name, y, m, n, money(c), b
}
END { s = "{"; for (b in tot) { printf "%s\"%d\": \"%s\"", s, b, money(tot[b]) > "totals.json"; s = ",\n " } print "}" > "totals.json" }' > ledger.csv
