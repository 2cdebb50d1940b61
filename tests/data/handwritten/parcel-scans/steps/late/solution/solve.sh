#!/bin/bash
cat > /tmp/late.py <<'PY'
import sqlite3
q = """
SELECT p.parcel, state, (strftime('%s', '2025-05-10') - strftime('%s', since)) / 3600 AS h, depot
FROM parcels p JOIN scans s ON s.parcel = p.parcel AND s.at = p.since
WHERE state IN ('depot', 'van') AND strftime('%s', '2025-05-10') - strftime('%s', since) > 36 * 3600
ORDER BY h DESC, 1"""
print("parcel,state,hours,depot")
for r in sqlite3.connect("/srv/parcels/scans.db").execute(q):
    print(*r, sep=",")
PY
python3 /tmp/late.py > /srv/parcels/late.csv
