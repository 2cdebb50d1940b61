"""Random restarts of a greedy loading, biggest parcels first, until all parcels fit."""

import csv
import json
import random

D = "/home/user/depot/"
with open(D + "parcels.csv") as f:
    parcels = list(csv.DictReader(f))
for p in parcels:
    p["kg"], p["decilitres"] = int(p["kg"]), int(p["decilitres"])
names = [f"van{i:02d}" for i in range(1, 11)]


def ok(van):
    kinds = [p["kind"] for p in van]
    return (
        sum(p["kg"] for p in van) <= 800
        and sum(p["decilitres"] for p in van) <= 120
        and len({p["town"] for p in van}) <= 3
        and not {"food", "chemical"} <= set(kinds)
        and kinds.count("fragile") <= 3
    )


def attempt(rng):
    vans = [[] for _ in names]
    for p in sorted(parcels, key=lambda p: -p["kg"] * rng.uniform(0.7, 1.3)):
        fitting = [v for v in vans if ok([*v, p])]
        if not fitting:
            return None
        # prefer a van that goes there anyway, then the fullest
        best = max(fitting, key=lambda v: (p["town"] in {q["town"] for q in v}, sum(q["kg"] for q in v)))
        best.append(p)
    return vans


rng = random.Random(1)
vans = None
while vans is None:
    vans = attempt(rng)
with open(D + "loading.csv", "w") as f:
    f.write("van,parcel\n")
    for name, van in zip(names, vans):
        for p in van:
            f.write(f"{name},{p['parcel']}\n")
with open(D + "vans.json", "w") as f:
    json.dump(
        {
            name: {
                "kg": sum(p["kg"] for p in van),
                "decilitres": sum(p["decilitres"] for p in van),
                "towns": sorted({p["town"] for p in van}),
            }
            for name, van in zip(names, vans)
        },
        f,
        indent=1,
    )
