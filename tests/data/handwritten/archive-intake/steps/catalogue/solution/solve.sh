#!/bin/bash
set -e
python3 - <<'PY'
import gzip, tarfile, zipfile
drop, rows = "/home/archivist/drop/", []
for line in open("/home/archivist/status.tsv"):
    name, status = line.rstrip("\n").split("\t")
    if status != "ok":
        continue
    if name.endswith(".zip"):
        with zipfile.ZipFile(drop + name) as z:
            docs = {n: z.read(n) for n in z.namelist() if not n.endswith("/")}
    elif name.endswith(".txt.gz"):
        docs = {name[:-3]: gzip.open(drop + name).read()}
    else:
        with tarfile.open(drop + name) as t:
            docs = {m.name: t.extractfile(m).read() for m in t if m.isfile()}
    for path, data in docs.items():
        text = data.decode()
        head = dict(h.split(": ", 1) for h in text.split("\n\n")[0].split("\n"))
        rows.append("\t".join([name, path] + [head.get(k, "?") for k in ("Author", "Title", "Date")] + [str(len(text.split()))]) + "\n")
open("/home/archivist/catalogue.tsv", "w").writelines(sorted(rows))
PY
