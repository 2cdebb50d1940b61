#!/bin/bash
set -euo pipefail
python3 - <<'PYTHON'
import pathlib

home = pathlib.Path("/home/worker")
settings, origin = {}, {}
for file in sorted((home / "layers").glob("*.ini"), key=lambda path: path.name.encode()):
    section = ""
    for line in file.read_text().splitlines():
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
            continue
        key, _, value = line.partition("=")
        where = (section, key.strip())
        if value.strip() == "!unset":
            settings.pop(where, None)
        else:
            settings[where], origin[where] = value.strip(), file.name

sections = sorted({section for section, _ in settings})
blocks = []
for section in sections:
    keys = sorted(key for owner, key in settings if owner == section)
    blocks.append("\n".join([f"[{section}]"] + [f"{key} = {settings[section, key]}".rstrip(" ") for key in keys]) + "\n")
(home / "out" / "effective.ini").write_text("\n".join(blocks))
rows = [f"{section}\t{key}\t{origin[section, key]}\n" for section, key in sorted(settings)]
(home / "out" / "origin.tsv").write_text("".join(rows))
PYTHON
