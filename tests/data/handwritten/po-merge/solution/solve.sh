#!/bin/bash
cd /srv/l10n && python3 - <<'PY'
import ast, json, re

def read(path):
    found = {}
    for part in open(path, encoding="utf-8").read().split("\n\n"):
        part = "\n".join(l for l in part.split("\n") if not l.startswith("#~"))
        strings = {}
        for key, value in re.findall(r'^(msgctxt|msgid|msgstr) ((?:".*"\n?)+)', part, re.M):
            strings[key] = "".join(ast.literal_eval(s) for s in value.strip().split("\n"))
        if strings.get("msgid"):
            fuzzy = re.search("^#,.*fuzzy", part, re.M)
            found[strings.get("msgctxt"), strings["msgid"]] = None if fuzzy else strings["msgstr"] or None
    return found

new, old = read("app.pot"), read("de.po")
rows = [{"context": c, "id": i, "text": old.get((c, i))} for c, i in new]
json.dump(rows, open("de.json", "w"), indent=1)
n = sum(r["text"] is not None for r in rows)
print(f"translated={n} missing={len(rows) - n} obsolete={len(old.keys() - new.keys())}", file=open("stats.txt", "w"))
PY
