#!/bin/bash
set -e
rm -f /srv/parcels/scans.db
python3 - <<'PY'
import csv, json, sqlite3
from datetime import datetime, timedelta, timezone
scans = set()
with open("/srv/parcels/feeds/depot.csv", newline="") as f:
    for r in csv.DictReader(f, delimiter=";"):
        at = datetime.strptime(r["time"], "%d.%m.%Y %H:%M:%S") - timedelta(hours=2)
        scans.add((r["parcel"].upper(), r["event"].lower(), str(at), r["depot"].upper()))
for line in open("/srv/parcels/feeds/vans.jsonl"):
    r = json.loads(line)
    if "parcel" in r:
        at = datetime.fromisoformat(r["at"]).astimezone(timezone.utc).replace(tzinfo=None)
        scans.add((r["parcel"].upper(), r["event"].lower(), str(at), r["depot"].upper()))
db = sqlite3.connect("/srv/parcels/scans.db")
db.execute("CREATE TABLE scans(parcel TEXT, event TEXT, at TEXT, depot TEXT)")
db.executemany("INSERT INTO scans VALUES (?, ?, ?, ?)", sorted(scans, key=lambda s: s[2]))
db.commit()
PY
