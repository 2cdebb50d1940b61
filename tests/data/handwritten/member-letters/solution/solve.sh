#!/bin/bash
mkdir -p /app/merge/out
python3 - <<'PY'
import datetime, os, re

def fill(template, record):
    text = re.sub(r"(?m)^(\{\{[#/](?:if|unless)[^{}]*\}\})\n", r"\1", template)
    inner = re.compile(r"\{\{#(if|unless) (\w+)\}\}((?:(?!\{\{#).)*?)\{\{/\1\}\}", re.S)

    def block(m):
        return m[3] if bool(record.get(m[2])) == (m[1] == "if") else ""
    while inner.search(text):
        text = inner.sub(block, text)

    def value(m):
        if m[0].startswith("{{{"):
            return m[0][1:-1]
        v = record.get(m[1], "")
        if v and m[2] == "upper":
            v = v.upper()
        if v and m[2] == "date":
            d = datetime.date.fromisoformat(v)
            v = f"{d.day} {d:%B %Y}"
        if v and m[2] == "pad":
            v = v.zfill(5)
        return v
    return re.sub(r"\{\{\{\w+\}\}\}|\{\{(\w+)(?:\|(\w+))?\}\}", value, text)

for part in open("/app/merge/people.txt", encoding="utf-8").read().strip("\n").split("\n\n"):
    record = {k: v.strip() for k, v in (line.split(":", 1) for line in part.split("\n"))}
    record["sender"] = os.environ["SENDER"]
    for kind in ("letter", "label"):
        with open(f"/app/merge/{kind}.tmpl", encoding="utf-8") as t, open(f"/app/merge/out/{record['account']}.{kind}", "w", encoding="utf-8") as o:
            o.write(fill(t.read(), record))
PY
