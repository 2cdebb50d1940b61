#!/bin/bash
cat > /srv/proxy/whereto <<'SCRIPT'
#!/usr/bin/awk -f
function add(w, quoted) { n++; word[n] = w; special[n] = !quoted && (w == "{" || w == "}" || w == ";") }
BEGIN {
    file = ARGV[1]; ARGC = 1
    while ((getline line < file) > 0) {
        while (1) {
            sub(/^[ \t\r\f\v]+/, "", line)
            if (line == "" || line ~ /^#/) break
            if (line ~ /^"/) {
                line = substr(line, 2); k = index(line, "\"")
                add(substr(line, 1, k - 1), 1); line = substr(line, k + 1)
            } else if (line ~ /^[{};]/) { add(substr(line, 1, 1), 0); line = substr(line, 2) }
            else { match(line, /^[^ \t{};]+/); add(substr(line, 1, RLENGTH), 0); line = substr(line, RLENGTH + 1) }
        }
    }
    for (i = 1; i <= n; i++) {
        if (word[i] == "server" && special[i + 1]) { s++; i += 2
            while (!(special[i] && word[i] == "}")) {
                if (word[i] == "name") {
                    for (i++; !special[i]; i++) { nn[s]++; name[s, nn[s]] = tolower(word[i]) }
                    i++
                } else {
                    i++; c = ++nl[s]
                    if (!special[i + 1]) { mod[s, c] = word[i]; i++ }
                    pat[s, c] = word[i]; to[s, c] = word[i + 3]
                    i += 6
                }
            }
        }
    }
}
function server(host,   a, b, best, len, w) {
    for (a = 1; a <= s; a++) for (b = 1; b <= nn[a]; b++) if (name[a, b] == host) return a
    for (a = 1; a <= s; a++) for (b = 1; b <= nn[a]; b++) { w = name[a, b]
        if (substr(w, 1, 2) == "*." && length(host) >= length(w) && substr(host, length(host) - length(w) + 2) == substr(w, 2) && length(w) > len) { len = length(w); best = a } }
    if (best) return best
    for (a = 1; a <= s; a++) for (b = 1; b <= nn[a]; b++) if (name[a, b] == "_") return a
    return 0
}
function place(a, path,   c, len, best, low) {
    for (c = 1; c <= nl[a]; c++) if (mod[a, c] == "=" && pat[a, c] == path) return to[a, c]
    len = -1
    for (c = 1; c <= nl[a]; c++) if ((mod[a, c] == "" || mod[a, c] == "^~") && index(path, pat[a, c]) == 1 && length(pat[a, c]) > len) { len = length(pat[a, c]); best = c }
    if (best && mod[a, best] == "^~") return to[a, best]
    low = tolower(path)
    for (c = 1; c <= nl[a]; c++) {
        if (mod[a, c] == "~" && path ~ pat[a, c]) return to[a, c]
        if (mod[a, c] == "~*" && low ~ tolower(pat[a, c])) return to[a, c]
    }
    return best ? to[a, best] : "404"
}
{
    k = index($0, " "); host = tolower(substr($0, 1, k - 1)); path = substr($0, k + 1)
    sub(/\?.*/, "", path)
    a = server(host)
    print a ? place(a, path) : "421"
}
SCRIPT
chmod +x /srv/proxy/whereto
