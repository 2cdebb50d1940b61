#!/bin/bash
# awk for the sets, tsort for the order.
cd /home/user/lab
export LC_ALL=C
grep -v '^#' services.deps | awk -F'[:;]' '
    { gsub(/ /, "", $1); n = split($2, h, " "); for (i = 1; i <= n; i++) print "R", $1, h[i]
      m = split($3, s, " "); for (i = 1; i <= m; i++) print "A", $1, s[i]; print "N", $1 }' > /tmp/edges
awk '
    $1 == "N" { node[$2] = 1 }
    $1 == "R" { r[$2, $3] = 1; all[$2]; all[$3] }
    $1 == "A" { a[$2, $3] = 1; all[$2]; all[$3] }
    END {
        for (n in node) all[n]
        do { changed = 0
            for (n in node) if (!ok[n]) { good = 1
                for (e in r) { split(e, x, SUBSEP); if (x[1] == n && !ok[x[2]]) good = 0 }
                if (good) { ok[n] = 1; changed = 1 } }
        } while (changed)
        for (e in r) { hard[e] = 1; split(e, x, SUBSEP); if (ok[x[1]] && ok[x[2]]) any[e] = 1 }
        for (e in a) { split(e, x, SUBSEP); if (ok[x[1]] && ok[x[2]]) any[e] = 1 }
        for (k in all) for (i in all) for (j in all) {
            if (((i, k) in hard) && ((k, j) in hard)) hard[i, j] = 1
            if (((i, k) in any) && ((k, j) in any)) any[i, j] = 1 }
        for (n in node) if (ok[n]) print n, n > "/tmp/pairs"
        for (e in r) { split(e, x, SUBSEP); if (ok[x[1]]) print x[2], x[1] > "/tmp/pairs" }
        printf "" > "dropped.txt"
        for (e in a) { split(e, x, SUBSEP)
            if (!ok[x[1]] || !ok[x[2]]) continue
            if (x[1] == x[2] || (x[2], x[1]) in any) print x[1] " after " x[2] > "dropped.txt"
            else print x[2], x[1] > "/tmp/pairs" }
        for (n in node) if (!ok[n]) {
            why = "blocked"
            for (m in all) if (!(m in node) && (n, m) in hard) why = "missing"
            if ((n, n) in hard) why = "cycle"
            print n, why > "blocked.txt" }
    }' /tmp/edges
tsort /tmp/pairs > order.txt
sort -o dropped.txt dropped.txt
sort -o blocked.txt blocked.txt
