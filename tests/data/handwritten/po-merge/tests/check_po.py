"""Parses the verifier's own copies line by line and compares; two checks, half the reward each."""
import json
import os
import sys

UNESCAPE = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def unquote(s):
    out, chars = "", iter(s.strip()[1:-1])
    for c in chars:
        out += UNESCAPE[next(chars)] if c == "\\" else c
    return out


def messages(path):
    result, entry, last = [], {}, None
    with open(path, encoding="utf-8") as f:
        for line in [*f, "\n"]:
            if line == "\n":
                if "msgid" in entry:
                    result.append(entry)
                entry, last = {}, None
            elif line.startswith("#, "):
                entry["fuzzy"] = "fuzzy" in line
            elif line[0] == '"':
                entry[last] += unquote(line)
            elif line[0] != "#":
                last, text = line.split(" ", 1)
                entry[last] = unquote(text)
    return [e for e in result if e["msgid"] or "msgctxt" in e]


def key(e):
    return e.get("msgctxt"), e["msgid"]


new, old = messages("/tests/app.pot"), {key(e): e for e in messages("/tests/de.po")}
want = []
for e in new:
    o = old.get(key(e), {})
    want.append({"context": key(e)[0], "id": key(e)[1], "text": None if o.get("fuzzy") else o.get("msgstr") or None})
done = len([w for w in want if w["text"]])
line = f"translated={done} missing={len(want) - done} obsolete={len(set(old) - set(map(key, new)))}"

score = 0.0
try:
    try:
        with open("/srv/l10n/de.json", encoding="utf-8") as f:
            if json.load(f) == want:
                score += 0.5
                print("de.json ok")
    except (OSError, ValueError) as e:
        print("de.json:", e)
    try:
        with open("/srv/l10n/stats.txt", encoding="utf-8") as f:
            if f.read().strip() == line:
                score += 0.5
                print("stats.txt ok")
    except (OSError, ValueError) as e:
        print("stats.txt:", e)
finally:
    os.makedirs("/logs/verifier", exist_ok=True)
    with open("/logs/verifier/reward.txt", "w") as f:
        f.write(f"{score}\n")
sys.exit(0 if score == 1.0 else 1)
