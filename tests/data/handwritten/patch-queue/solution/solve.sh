#!/bin/bash
python3 - <<'PY'
import pathlib, re
q = pathlib.Path("/srv/queue")
tree = {str(p.relative_to(q / "tree")): p.read_text().splitlines(True) for p in (q / "tree").rglob("*.txt")}
rejected = []
def apply(text, tree):
    new, name, lines = {}, None, text.splitlines(True)
    for i, l in enumerate(lines):
        if l.startswith("+++ b/") and lines[i - 1].startswith("--- a/"):
            name = l[6:].rstrip("\n")
            new[name], at = [], 0
        elif name and (m := re.match(r"@@ -(\d+)(?:,(\d+))? \+", l)):
            start = int(m[1]) - (m[2] != "0")
            new[name] += tree[name][at:start]
            at = start
        elif name and l[0] in " -" and not l.startswith("--- a/"):
            if tree[name][at:at + 1] != [l[1:]]:
                return None
            at += 1
            if l[0] == " ": new[name].append(l[1:])
        elif name and l[0] == "+":
            new[name].append(l[1:])
        if name and (i + 1 == len(lines) or lines[i + 1].startswith("--- a/")):
            new[name] += tree[name][at:]
            name = None
    return new
for line in (q / "patches/series").read_text().split("\n"):
    p = line.split("#")[0].strip()
    if p:
        new = apply((q / "patches" / p).read_text(), tree)
        if new is None: rejected.append(p + "\n")
        else: tree.update(new)
for k, v in tree.items():
    (q / "tree" / k).write_text("".join(v))
(q / "rejected.txt").write_text("".join(rejected))
PY
