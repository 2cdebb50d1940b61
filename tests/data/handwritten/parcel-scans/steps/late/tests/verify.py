import calendar, csv, time

FOLLOW = {"new": {"accepted": "depot"}, "depot": {"sorted": "depot", "loaded": "van", "returned": "closed"},
          "van": {"delivered": "closed", "failed": "depot"}, "closed": {}}
NOW = calendar.timegm((2025, 5, 10, 0, 0, 0))
parcels = {}
for parcel, event, at, depot in sorted((l.strip().split("|") for l in open("/tests/scans.txt")), key=lambda s: s[2]):
    state = parcels.get(parcel, ("new",))[0]
    if event in FOLLOW[state]:
        parcels[parcel] = FOLLOW[state][event], calendar.timegm(time.strptime(at, "%Y-%m-%d %H:%M:%S")), depot
late = [[p, s, str((NOW - t) // 3600), d] for p, (s, t, d) in parcels.items() if s in ("depot", "van") and NOW - t > 36 * 3600]
late.sort(key=lambda r: (-int(r[2]), r[0]))
try:
    with open("/srv/parcels/late.csv", newline="") as f:
        got = list(csv.reader(f))
except (OSError, UnicodeDecodeError, csv.Error) as e:
    got = [str(e)]
ok = got == [["parcel", "state", "hours", "depot"]] + late
print(len(late), "late parcels", "ok" if ok else got[:5])
open("/logs/verifier/reward.txt", "w").write("1" if ok else "0")
