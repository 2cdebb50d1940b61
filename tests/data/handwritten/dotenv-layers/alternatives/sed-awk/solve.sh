#!/bin/bash
cd /home/user/service
cat base.env "$TIER.env" | LC_ALL=C awk '
function get(x) { return x in ENVIRON ? ENVIRON[x] : (x in val ? val[x] : "") }
function expand(s,   out, k, e, body, name, v) {
    while (k = index(s, "${")) {
        out = out substr(s, 1, k - 1); s = substr(s, k); e = index(s, "}")
        body = e ? substr(s, 3, e - 3) : ""
        if (body ~ /^[A-Za-z_][A-Za-z0-9_]*$/) { out = out get(body) }
        else if (body ~ /^[A-Za-z_][A-Za-z0-9_]*:-/) { name = body; sub(/:-.*/, "", name); v = get(name); out = out (v == "" ? substr(body, length(name) + 3) : v) }
        else { out = out "${"; s = substr(s, 3); continue }
        s = substr(s, e + 1)
    }
    return out s
}
{ gsub(/^[ \t]+|[ \t]+$/, ""); sub(/^export[ \t]+/, "") }
/^[A-Za-z_][A-Za-z0-9_]*[ \t]*=/ {
    k = index($0, "="); name = substr($0, 1, k - 1); v = substr($0, k + 1); gsub(/[ \t]/, "", name); sub(/^[ \t]+/, "", v)
    c = substr(v, 1, 1)
    if (c == "\047") v = substr(v, 2, length(v) - 2)
    else if (c == "\"") v = expand(substr(v, 2, length(v) - 2))
    else { sub(/[ \t]+#.*/, "", v); v = expand(v) }
    val[name] = v; seen[name]
}
END { for (n in seen) print n "=" get(n) }' | LC_ALL=C sort -t= -k1,1 > effective.env
