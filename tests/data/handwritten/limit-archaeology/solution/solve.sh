#!/bin/bash
set -e
rm -rf /tmp/site
git clone -q -b main /srv/import/site.bundle /tmp/site
cd /tmp/site
python3 - <<'EOF2'
import json, subprocess
from collections import Counter

def git(*args):
    return subprocess.run(["git", *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout

report = {"max_upload": [], "removed_pages": {}, "commits": Counter()}
value = None
for line in git("log", "--reverse", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%H%x09%aN <%aE>%x09%ad", "main").splitlines():
    commit, author, date = line.split("\t")
    report["commits"][author] += 1
    text = git("show", f"{commit}:conf/limits.ini") or git("show", f"{commit}:etc/limits.ini")
    for row in text.splitlines():
        key, _, new = row.partition("=")
        if key.strip() == "max_upload" and new.strip() != value:
            value = new.strip()
            report["max_upload"].append(dict(commit=commit, author=author, date=date, value=value))
    for path in git("diff-tree", "-r", "--root", "--no-commit-id", "--no-renames", "--name-only", "--diff-filter=D", commit).splitlines():
        report["removed_pages"][path] = commit
alive = git("ls-tree", "-r", "--name-only", "main").splitlines()
report["removed_pages"] = {p: c for p, c in report["removed_pages"].items() if p not in alive and not p.endswith("/limits.ini")}
with open("/srv/import/report.json", "w") as f:
    json.dump(report, f, indent=2, ensure_ascii=False)
EOF2
