#!/bin/sh
# Needs python3, keeps the tree in memory until the end.
python3 - <<'EOP'
import hashlib, os, tarfile, glob
sums = dict(reversed(l.split()) for l in open("/backups/SHA256SUMS"))
tree, bad = {}, []
for path in sorted(glob.glob("/backups/*.tgz"), key=lambda p: p[-12:]):
    name = os.path.basename(path)
    if hashlib.sha256(open(path, "rb").read()).hexdigest() != sums[name]:
        bad.append(name)
        continue
    with tarfile.open(path) as t:
        new = {m.name.removeprefix("./"): (m.mode, t.extractfile(m).read()) for m in t if m.isfile()}
    gone = new.pop(".deleted", (0, b""))[1].decode().splitlines()
    for d in gone:
        tree = {k: v for k, v in tree.items() if not (k == d or d.endswith("/") and k.startswith(d))}
    tree.update(new)
for k, (mode, data) in tree.items():
    p = os.path.join("/srv/files", k)
    os.makedirs(os.path.dirname(p), exist_ok=True)
    open(p, "wb").write(data)
    os.chmod(p, mode)
open("/srv/damaged.txt", "w").write("".join(b + "\n" for b in sorted(bad)))
EOP
