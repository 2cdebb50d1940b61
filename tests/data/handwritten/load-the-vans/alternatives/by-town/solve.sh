#!/bin/bash
# Backtracking over the parcels, grouped by town, next-fit order rotated; compact JSON and reversed rows.
python3 - <<'PY'
import csv, json, sys
sys.setrecursionlimit(10000)
D = "/home/user/depot/"
P = [(r["parcel"], int(r["kg"]), int(r["decilitres"]), r["town"], r["kind"]) for r in csv.DictReader(open(D + "parcels.csv"))]
P.sort(key=lambda p: (p[4] != "fragile", p[4] == "", p[4], -p[1]))
vans = [[] for _ in range(10)]
budget = [0]
def fits(v, p):
    w = v + [p]
    k = [x[4] for x in w]
    return (sum(x[1] for x in w) <= 800 and sum(x[2] for x in w) <= 120 and len({x[3] for x in w}) <= 3
            and not ("food" in k and "chemical" in k) and k.count("fragile") <= 3)
def go(i):
    if i == len(P):
        return True
    budget[0] -= 1
    if budget[0] < 0:
        return False
    p = P[i]
    # worst fit: the emptiest van first
    for v in sorted(vans, key=lambda v: (p[3] not in {x[3] for x in v}, sum(x[1] for x in v))):
        if fits(v, p):
            v.append(p)
            if go(i + 1):
                return True
            v.pop()
            if not v:
                break
    return False
import random
r = random.Random(9)
while True:
    budget[0] = 20000
    if go(0):
        break
    for v in vans: v.clear()
    r.shuffle(P)
    P.sort(key=lambda p: -p[1] // 100)
rows = [f"van{i:02d},{p[0]}" for i, v in enumerate(vans, 1) for p in v]
open(D + "loading.csv", "w").write("\n".join(["van,parcel"] + rows[::-1]) + "\n")
json.dump({f"van{i:02d}": {"towns": sorted({p[3] for p in v}), "decilitres": sum(p[2] for p in v), "kg": sum(p[1] for p in v)}
           for i, v in enumerate(vans, 1)}, open(D + "vans.json", "w"))
PY
