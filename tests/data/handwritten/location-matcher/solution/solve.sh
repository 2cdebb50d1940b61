#!/bin/bash
set -euo pipefail
cat > /srv/proxy/whereto <<'PYTHON'
#!/usr/bin/env python3
import re
import sys

TOKEN = re.compile(r'"([^"\n]*)"|([{};])|(#[^\n]*)|([^\s{};]+)')


def tokens(text):
    for match in TOKEN.finditer(text):
        if match[3] is None:
            # (is it quoted?, word): a quoted brace is no brace
            yield match[1] is not None, match[1] if match[1] is not None else match[0]


def parse(text):
    words = list(tokens(text))
    servers, at = [], 0
    while at < len(words):
        assert words[at] == (False, "server")
        at += 2
        server = {"names": [], "locations": []}
        while words[at] != (False, "}"):
            if words[at][1] == "name":
                at += 1
                while words[at] != (False, ";"):
                    server["names"].append(words[at][1].lower())
                    at += 1
                at += 1
                continue
            at += 1
            end = words.index((False, "{"), at)
            head = [word for _, word in words[at:end]]
            modifier, pattern = head if len(head) == 2 else ("", head[0])
            target = words[end + 2][1]
            regex = None
            if modifier in ("~", "~*"):
                regex = re.compile(pattern, re.IGNORECASE if modifier == "~*" else 0)
            server["locations"].append((modifier, pattern, regex, target))
            at = end + 5
        at += 1
        servers.append(server)
    return servers


def find_server(servers, host):
    for server in servers:
        if host in server["names"]:
            return server
    best = None
    for server in servers:
        for name in server["names"]:
            if name.startswith("*.") and host.endswith(name[1:]) and len(host) > len(name) - 1:
                if best is None or len(name) > len(best[0]):
                    best = name, server
    if best:
        return best[1]
    return next((server for server in servers if "_" in server["names"]), None)


def find_location(locations, path):
    best = None
    for modifier, word, _, target in locations:
        if modifier == "=" and word == path:
            return target
        if modifier in ("", "^~") and path.startswith(word) and (best is None or len(word) > len(best[1])):
            best = modifier, word, target
    if best and best[0] == "^~":
        return best[2]
    for _, _, regex, target in locations:
        if regex and regex.search(path):
            return target
    return best[2] if best else "404"


def main():
    with open(sys.argv[1]) as stream:
        servers = parse(stream.read())
    for line in sys.stdin:
        host, _, path = line.rstrip("\n").partition(" ")
        server = find_server(servers, host.lower())
        print(find_location(server["locations"], path.partition("?")[0]) if server else "421")


main()
PYTHON
chmod 755 /srv/proxy/whereto
cd /srv/proxy
./whereto sample.conf < sample.requests | diff - sample.expected
