#!/bin/bash
# There are just two templates: written out as Python functions instead of a template engine.
mkdir -p /app/merge/out
cat > /tmp/m.py <<'PY'
import os
M = "January February March April May June July August September October November December".split()
def letter(g):
    yield f"Dear {g('title')} {g('last')},\n"
    if g("balance"):
        y, m, d = (g("due") or "1-1-1").split("-")
        due = f", due on {int(d)} {M[int(m) - 1]} {y}" if g("due") else ""
        yield f"your account {g('account')} shows {g('balance')} EUR{due}.\n"
    else:
        yield f"your account {g('account')} is settled. Thank you!\n"
    if g("note"):
        yield "A remark: " + g("note").upper() + " {{literal}}\n"
    yield "\nYours, " + os.environ["SENDER"] + "\n"
def label(g):
    yield g("first") + " " + g("last").upper() + "\n"
    if g("street"):
        yield g("street") + "\n"
    yield g("zip").rjust(5, "0") + " " + g("city") + "\n"
for r in open("/app/merge/people.txt", encoding="utf-8").read().split("\n\n"):
    d = dict(l.partition(":")[::2] for l in r.split("\n"))
    g = lambda k: d.get(k, "")[1:].rstrip("\n")
    for f in (letter, label):
        open(f"out/{g('account')}.{f.__name__}", "w", encoding="utf-8").write("".join(f(g)))
PY
cd /app/merge && python3 /tmp/m.py
