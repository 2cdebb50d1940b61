#!/bin/bash
set -euo pipefail
python3 - <<'END'
import hashlib, pathlib
src, dst = pathlib.Path("/home/user/letters"), pathlib.Path("/home/user/letters-utf8")
listed = dict(l.split("\t") for l in (src / "ENCODINGS").read_text().splitlines() if not l.startswith("#"))
index = []
for p in src.rglob("*.txt"):
    rel, data = str(p.relative_to(src)), p.read_bytes()
    if data.startswith(b"\xef\xbb\xbf"):
        text = data[3:].decode("utf-8")
    elif data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16")
    else:
        text = data.decode(listed.get(rel, "utf-8"))
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    out = dst / rel
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(text.encode())
    index.append(f"{rel}\t{len(text)}\t{hashlib.sha256(text.encode()).hexdigest()}\n")
(dst / "INDEX.tsv").write_text("".join(sorted(index)))
END
