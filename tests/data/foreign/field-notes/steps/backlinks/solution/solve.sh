#!/bin/bash
set -euo pipefail
python3 - <<'PYTHON'
import json
import pathlib
import re

notes, index = pathlib.Path("/app/notes"), pathlib.Path("/app/index")
index.mkdir(exist_ok=True)
texts = {file.relative_to(notes).as_posix()[: -len(".md")]: file.read_text() for file in notes.rglob("*.md")}
aliases = {}
for line in pathlib.Path("/app/aliases.tsv").read_text().splitlines():
    alias, name = line.split("\t")
    aliases[alias.lower()] = name

backlinks, broken = {name: set() for name in texts}, set()
for name, text in texts.items():
    for target in re.findall(r"\[\[([^\]|]*)(?:\|[^\]]*)?\]\]", text):
        target = target.strip()
        found = target if target in texts else aliases.get(target.lower())
        if found is None:
            broken.add(f"{name}\t{target}\n")
        elif found != name:
            backlinks[found].add(name)

(index / "backlinks.json").write_text(json.dumps({name: sorted(backlinks[name]) for name in sorted(texts)}, indent=2))
(index / "broken.txt").write_text("".join(sorted(broken)))
PYTHON
