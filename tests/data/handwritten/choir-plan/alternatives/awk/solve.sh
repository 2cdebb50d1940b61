#!/bin/bash
# Day numbers from 27 January 2025 (a Monday) = 0; everything in awk.
cd /opt/choir
tr -d '\r' < choir.ics | awk '
{ if (substr($0, 1, 1) == " ") buf = buf substr($0, 2); else { if (NR > 1) print buf; buf = $0 } }
END { print buf }' > /tmp/unfolded
awk '
function day(s) { return (substr(s, 5, 2) == "02" ? 5 : substr(s, 5, 2) == "03" ? 33 : substr(s, 5, 2) == "04" ? 64 : -26) + substr(s, 7, 2) - 1 }
function clock(m) { return sprintf("%02d:%02d", m / 60, m % 60) }
function min(s) { return substr(s, 10, 2) * 60 + substr(s, 12, 2) }
function show(i, d,   s, p, h, m, t) {
    if (d < 33 || d > 63) return
    t = dur[i]; h = m = 0
    sub(/^PT/, "", t)
    if (match(t, /^[0-9]+H/)) { h = substr(t, 1, RLENGTH - 1); t = substr(t, RLENGTH + 1) }
    if (t != "") m = substr(t, 1, length(t) - 1)
    s = min(start[i])
    p = loc[i] == "" ? "" : " (" loc[i] ")"
    printf "%02d|%s|%s|%d|%s %02d Mar %s-%s  %s%s\n", d - 32, clock(s), sum[i], 5 + int(d / 7), substr("MonTueWedThuFriSatSun", d % 7 * 3 + 1, 3), d - 32, clock(s), clock(s + h * 60 + m), sum[i], p
}
/^BEGIN:VEVENT/ { n++; deep = 0; next }
/^BEGIN:VALARM/ { deep = 1 }
/^END:VALARM/ { deep = 0 }
deep || !n { next }
{ k = $0; sub(/:.*/, "", k); v = substr($0, length(k) + 2); gsub(/\\/, "", v) }
k == "UID" { uid[n] = v }
k == "SUMMARY" { sum[n] = v }
k == "LOCATION" { loc[n] = v }
k == "DTSTART" { start[n] = v }
k == "DURATION" { dur[n] = v }
k == "RRULE" { rule[n] = v }
k == "RECURRENCE-ID" { rid[n] = v }
k == "EXDATE" { ex[n] = ex[n] "," v }
END {
    for (i = 1; i <= n; i++) if (rid[i] != "") gone[uid[i] "/" day(rid[i])] = 1
    for (i = 1; i <= n; i++) {
        if (rule[i] == "") { show(i, day(start[i])); continue }
        c = split(ex[i], e, ","); for (j = 1; j <= c; j++) if (e[j] != "") gone[uid[i] "/" day(e[j])] = 1
        step = 1; left = 999; by = ""; until = 93
        c = split(rule[i], part, ";")
        for (j = 1; j <= c; j++) {
            val = part[j]; sub(/.*=/, "", val)
            if (part[j] ~ /^INTERVAL/) step = val
            if (part[j] ~ /^COUNT/) left = val
            if (part[j] ~ /^BYDAY/) by = val
            if (part[j] ~ /^UNTIL/) until = day(val)
        }
        d0 = day(start[i])
        if (by == "") by = substr("MOTUWETHFRSASU", d0 % 7 * 2 + 1, 2)
        for (d = d0; d <= until && left > 0; d++) {
            if ((int(d / 7) - int(d0 / 7)) % step || index(by, substr("MOTUWETHFRSASU", d % 7 * 2 + 1, 2)) == 0) continue
            left--
            if (!((uid[i] "/" d) in gone)) show(i, d)
        }
    }
}' /tmp/unfolded | LC_ALL=C sort -t'|' -k1,1 -k2,2 -k3,3 | awk -F'|' '$4 != w { if (w) print ""; print "Week " $4; w = $4 } { print $5 }' > march.txt
