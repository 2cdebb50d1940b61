#!/bin/bash
# Reads the whole history from one fast-export stream and keeps the tree itself.
git init -q --bare /tmp/x.git && cd /tmp/x.git
git fetch -q /srv/import/site.bundle main:main
git fast-export --show-original-ids --no-data --reencode=yes main > /tmp/stream
cat > /tmp/fe.py <<'PY'
import datetime, json, re, subprocess
tree, hashes, who_counts, limits, gone, value = {}, None, {}, [], {}, None
cur = None
def blob(h):
    return subprocess.check_output(["git", "cat-file", "blob", h], text=True)
lines = open("/tmp/stream", encoding="utf-8").read().split("\n")
mailmap = dict(re.findall(r"^(.*?>) <(.*?)>$", blob(subprocess.check_output(["git", "rev-parse", "main:.mailmap"], text=True).strip()), re.M)[i][::-1] for i in range(2))
def close():
    global value
    if not cur: return
    who_counts[cur["author"]] = who_counts.get(cur["author"], 0) + 1
    for p in ("conf/limits.ini", "etc/limits.ini"):
        if p in tree:
            v = re.search(r"^max_upload = (.*)$", blob(tree[p]), re.M)[1]
            if v != value:
                value = v
                limits.append({"value": v, **cur})
for l in lines:
    if l.startswith("commit "):
        close(); cur = {}
    elif l.startswith("original-oid ") and cur is not None and "commit" not in cur:
        cur["commit"] = l.split()[1]
    elif l.startswith("author "):
        n, m, s = re.match(r"author (.*) <(.*)> (\d+) ", l).groups()
        cur["author"] = mailmap.get(m, f"{n} <{m}>")
        cur["date"] = datetime.datetime.fromtimestamp(int(s), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    elif m := re.match(r"M \d+ (\w{40}) (.*)", l):
        tree[m[2]] = m[1]; gone.pop(m[2], None)
    elif l.startswith("D "):
        del tree[l[2:]]; gone[l[2:]] = cur["commit"]
    elif l.startswith("R "):
        raise SystemExit("rename")
close()
gone.pop("conf/limits.ini")
json.dump({"commits": who_counts, "removed_pages": gone, "max_upload": limits}, open("/srv/import/report.json", "w"))
PY
python3 /tmp/fe.py
