#!/usr/bin/env bash
# Splits and unfolds by hand; parents are found by walking up instead of down; ASCII JSON on one line.
exec python3 - <<'PY'
import base64, binascii, json, quopri, re, datetime as dt
raw = open("/home/user/rowers.mbox", encoding="utf-8").read()
mails = {}
for chunk in re.split(r"(?m)^From .*\n", raw)[1:]:
    head = re.sub(r"\n[ \t]+", " ", chunk.split("\n\n", 1)[0])
    h = {k.lower(): v.strip() for k, v in (line.split(":", 1) for line in head.split("\n"))}
    mails[h["message-id"]] = h
MONTHS = "Jan Feb Mar Apr May Jun".split()
def when(h):
    d, mon, y, clock, off = re.search(r"(\d+) (\w+) (\d+) (\S+) (\S+)", h["date"]).groups()
    t = dt.datetime(int(y), MONTHS.index(mon) + 1, int(d), *map(int, clock.split(":")))
    delta = dt.timedelta(hours=int(off[1:3]), minutes=int(off[3:]))
    return t - delta if off[0] == "+" else t + delta
def word(m):
    data = base64.b64decode(m[3]) if m[2] in "Bb" else quopri.decodestring(m[3].replace("_", " "))
    return data.decode(m[1])
for h in mails.values():
    h["t"] = when(h)
    h["up"] = None
    for a in re.findall("<.*?>", h.get("references", "") + h.get("in-reply-to", "")):
        if a in mails: h["up"] = a
def path(i):
    p = []
    while i: p.append((mails[i]["t"], i)); i = mails[i]["up"]
    return p[::-1]
threads = {}
for p in sorted(path(i) for i in mails):
    threads.setdefault(p[0][1], []).append(p)
out = []
for root, paths in threads.items():
    s = re.sub(r"=\?(.*?)\?(.)\?(.*?)\?=", word, mails[root]["subject"])
    out.append(dict(order=[p[-1][1] for p in paths], root=root, size=len(paths), depth=max(map(len, paths)),
        subject=s[4:] if s.startswith("Re: ") else s, started=mails[root]["t"].isoformat() + "Z",
        authors=sorted({re.search(r"<(.*)>", mails[p[-1][1]]["from"])[1] for p in paths})))
open("/home/user/threads.json", "w").write(json.dumps(out))
PY
