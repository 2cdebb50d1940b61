import sqlite3

want = [tuple(line.rstrip("\n").split("|")) for line in open("/tests/scans.txt")]
reward = "0"
try:
    db = sqlite3.connect("file:/srv/parcels/scans.db?mode=ro", uri=True)
    got = db.execute("SELECT parcel, event, at, depot FROM scans").fetchall()
    print(len(got), "scans,", len(set(got) ^ set(want)), "differ")
    if sorted(got) == sorted(want):
        reward = "1"
except (sqlite3.Error, TypeError) as e:
    print("error:", e)
with open("/logs/verifier/reward.txt", "w") as f:
    print(reward, file=f)
