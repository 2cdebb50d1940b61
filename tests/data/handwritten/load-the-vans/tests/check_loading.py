import csv
import json
import sys
from collections import Counter, defaultdict

folder, source = sys.argv[1:]
VANS = {f"van{i:02d}" for i in range(1, 11)}

with open(source, newline="") as f:
    parcels = {row["parcel"]: row for row in csv.DictReader(f)}

with open(f"{folder}/loading.csv", newline="") as f:
    rows = [row for row in csv.reader(f) if row]
assert rows and rows[0] == ["van", "parcel"], "header of loading.csv"
assert all(len(row) == 2 for row in rows), "every line has two fields"
loaded = Counter(parcel for _, parcel in rows[1:])
assert set(loaded) == set(parcels), f"missing or unknown: {set(loaded) ^ set(parcels)}"
assert max(loaded.values()) == 1, "a parcel in two vans"
assert {van for van, _ in rows[1:]} <= VANS, "unknown van"

vans = defaultdict(list)
for van, parcel in rows[1:]:
    vans[van].append(parcels[parcel])

with open(f"{folder}/vans.json") as f:
    described = json.load(f)
assert isinstance(described, dict) and set(described) == VANS, "keys of vans.json"

for van in sorted(VANS):
    load = vans[van]
    kg = sum(int(p["kg"]) for p in load)
    volume = sum(int(p["decilitres"]) for p in load)
    towns = sorted({p["town"] for p in load})
    kinds = Counter(p["kind"] for p in load)
    assert kg <= 800, f"{van} is too heavy: {kg}"
    assert volume <= 120, f"{van} is too full: {volume}"
    assert len(towns) <= 3, f"{van} visits {towns}"
    assert not (kinds["food"] and kinds["chemical"]), f"{van} mixes food and chemicals"
    assert kinds["fragile"] <= 3, f"{van} has too many fragile parcels"
    assert described[van] == {"kg": kg, "decilitres": volume, "towns": towns}, f"{van} is described wrongly"
print("a valid loading")
