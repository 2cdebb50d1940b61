#!/bin/bash
python3 - <<'PY'
import os
import re

values = {}

def look(name):
    return os.environ.get(name, values.get(name, ""))

def expand(text):
    return re.sub(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}", lambda m: look(m[1]) or m[2] or "", text)

for file in "base", os.environ["TIER"]:
    for line in open(f"/home/user/service/{file}.env"):
        m = re.fullmatch(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)", line.strip())
        if not m:
            continue
        name, value = m.groups()
        if q := re.fullmatch(r"'(.*)'", value):
            value = q[1]
        elif q := re.fullmatch(r'"(.*)"', value):
            value = expand(q[1])
        else:
            value = expand(re.sub(r"\s+#.*", "", value))
        values[name] = value

with open("/home/user/service/effective.env", "w") as out:
    for name in sorted(values):
        out.write(f"{name}={look(name)}\n")
PY
