#!/bin/bash
set -euo pipefail
python3 - <<'PYTHON'
import json
import pathlib

notes = pathlib.Path("/app/notes")
index = {}
for file in sorted(notes.rglob("*.md")):
    name = file.relative_to(notes).as_posix()[: -len(".md")]
    lines = file.read_text().splitlines()
    fields = {}
    if lines and lines[0] == "---" and "---" in lines[1:]:
        for line in lines[1 : lines.index("---", 1)]:
            key, _, value = line.partition(":")
            fields[key.strip()] = value.strip()
    tags = {tag.strip().lower() for tag in fields.get("tags", "").split(",")} - {""}
    index[name] = {"title": fields.get("title", name), "date": fields.get("date"), "tags": sorted(tags)}

target = pathlib.Path("/app/index/notes.json")
target.parent.mkdir(exist_ok=True)
target.write_text(json.dumps(index, indent=2) + "\n")
PYTHON
