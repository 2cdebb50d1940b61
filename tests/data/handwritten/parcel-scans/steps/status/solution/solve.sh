#!/bin/bash
python3 - <<'PY'
import sqlite3
NEXT = {("new", "accepted"): "depot", ("depot", "sorted"): "depot", ("depot", "loaded"): "van", ("depot", "returned"): "closed",
        ("van", "delivered"): "closed", ("van", "failed"): "depot"}
db = sqlite3.connect("/srv/parcels/scans.db")
db.execute("DROP TABLE IF EXISTS parcels")
db.execute("CREATE TABLE parcels(parcel TEXT PRIMARY KEY, state TEXT, since TEXT, rejected INTEGER)")
parcels = {}
for parcel, event, at in db.execute("SELECT parcel, event, at FROM scans ORDER BY at"):
    p = parcels.setdefault(parcel, ["new", None, 0])
    if (p[0], event) in NEXT:
        p[:2] = NEXT[p[0], event], at
    else:
        p[2] += 1
db.executemany("INSERT INTO parcels VALUES (?, ?, ?, ?)", [(k, *v) for k, v in parcels.items()])
db.commit()
PY
