import collections
import sqlite3

RULES = "new accepted depot|depot sorted depot|depot loaded van|depot returned closed|van delivered closed|van failed depot"
RULES = {tuple(r.split()[:2]): r.split()[2] for r in RULES.split("|")}
scans = [tuple(line.rstrip("\n").split("|")) for line in open("/tests/scans.txt")]
history = collections.defaultdict(list)
for parcel, event, at, _ in scans:
    history[parcel].append((at, event))
want = {}
for parcel, events in history.items():
    state, since, bad = "new", None, 0
    for at, event in sorted(events):
        following = RULES.get((state, event))
        state, since, bad = (following, at, bad) if following else (state, since, bad + 1)
    want[parcel] = (state, since, bad)
ok = False
try:
    db = sqlite3.connect("file:/srv/parcels/scans.db?mode=ro", uri=True)
    rows = db.execute("SELECT parcel, state, since, rejected FROM parcels").fetchall()
    ok = len(rows) == len(want) and {r[0]: r[1:] for r in rows} == want
    for r in rows:
        if want.get(r[0]) != r[1:]:
            print(r, want.get(r[0]))
    ok = ok and sorted(db.execute("SELECT * FROM scans")) == sorted(scans)
except (sqlite3.Error, TypeError) as e:
    print("error:", e)
open("/logs/verifier/reward.txt", "w").write(f"{int(ok)}\n")
