#!/bin/bash
# od and awk; the JSON is written by hand.
mkdir -p /app/decoded && cd /app/decoded
od -An -v -tu1 -w1 ../flight.rec | LC_ALL=C TZ=UTC awk '
{ d[n++] = $1 }
function s32(p,   v) { v = d[p] + 256 * (d[p+1] + 256 * (d[p+2] + 256 * d[p+3])); return v >= 2147483648 ? v - 4294967296 : v }
function s16(p,   v) { v = d[p] + 256 * d[p+1]; return v >= 32768 ? v - 65536 : v }
function deg(v,   s) { s = v < 0 ? "-" : ""; if (v < 0) v = -v; return sprintf("%s%d.%07d", s, int(v / 10000000), v % 10000000) }
function stamp(t,   days, era, doe, yoe, doy, mp, y, m, day) {
    days = int(t / 86400) + 719468; t %= 86400; era = int(days / 146097); doe = days - era * 146097
    yoe = int((doe - int(doe / 1460) + int(doe / 36524) - int(doe / 146096)) / 365)
    doy = doe - (365 * yoe + int(yoe / 4) - int(yoe / 100)); mp = int((5 * doy + 2) / 153)
    day = doy - int((153 * mp + 2) / 5) + 1; m = mp < 10 ? mp + 3 : mp - 9; y = yoe + era * 400 + (m <= 2)
    return sprintf("%04d-%02d-%02dT%02d:%02d:%02d", y, m, day, int(t / 3600), int(t / 60) % 60, t % 60) }
function try(p,   i, a, b) {
    if (d[p] != 165) return 0
    len = 0; f = 1
    for (i = p + 2; ; i++) { if (i >= n || i > p + 4) return 0; len += (d[i] % 128) * f; f *= 128; if (d[i] < 128) break }
    start = i + 1
    if (start + len + 2 > n) return 0
    a = b = 0
    for (i = p + 1; i < start + len; i++) { a = (a + d[i]) % 255; b = (b + a) % 255 }
    return d[start + len] == a && d[start + len + 1] == b }
END {
    print "time,latitude,longitude,altitude" > "track.csv"
    split("debug info warning error", word, " ")
    at = 5; clock = -1; unknown = skipped = records = 0
    while (at < n) {
        if (!try(at)) { at++; skipped++; continue }
        records++; kind = d[at + 1]; at = start + len + 2
        if (kind == 1 && len == 4) { clock = s32(start); if (clock < 0) clock += 4294967296 }
        else if (kind == 2 && len == 12 && clock >= 0) {
            ms = d[start] + 256 * d[start + 1]
            printf "%s.%03dZ,%s,%s,%d\n", stamp(clock + int(ms / 1000)), ms % 1000, deg(s32(start + 2)), deg(s32(start + 6)), s16(start + 10) > "track.csv"
        } else if (kind == 3 && len > 0 && d[start] < 4 && clock >= 0) {
            text = ""
            for (i = start + 1; i < start + len; i++)
                text = text (d[i] == 34 || d[i] == 92 ? "\\" : "") (d[i] < 32 ? sprintf("\\u%04x", d[i]) : sprintf("%c", d[i]))
            list = list (list == "" ? "" : ",\n") "{\"severity\":\"" word[d[start] + 1] "\",\"text\":\"" text "\",\"time\":\"" stamp(clock) "Z\"}"
        } else unknown++
    }
    printf "{\"messages\":[%s],\"skipped\":%d,\"unknown\":%d,\"records\":%d}\n", list, skipped, unknown, records > "summary.json"
}'
