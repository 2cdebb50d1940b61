import collections
import csv
import json
import pathlib

DATA, OUT = pathlib.Path("/app/data"), pathlib.Path("/app/out")


def item(text):
    return text.strip().upper()


catalogue = {item(line) for line in (DATA / "catalogue.txt").read_text().splitlines() if line.strip()}
booked, counted = collections.Counter(), collections.Counter()
warehouses, seen, entries = set(), set(), set()

with open(DATA / "ledger.csv", newline="") as stream:
    for row in csv.DictReader(stream):
        warehouses.add(row["warehouse"])
        seen.add(item(row["sku"]))
        if row["entry"] in entries:
            continue
        entries.add(row["entry"])
        if row["status"] != "void":
            booked[row["warehouse"], item(row["sku"])] += int(row["delta"])

for warehouse, items in json.loads((DATA / "counts.json").read_text()).items():
    warehouses.add(warehouse)
    for sku, quantity in items.items():
        seen.add(item(sku))
        counted[warehouse, item(sku)] += quantity

differences = [
    {"warehouse": w, "sku": s, "booked": booked[w, s], "counted": counted[w, s], "difference": counted[w, s] - booked[w, s]}
    for w, s in sorted({*booked, *counted})
    if s in catalogue and booked[w, s] != counted[w, s]
]
(OUT / "discrepancies.json").write_text(json.dumps(differences, indent=2) + "\n")

lines = []
for warehouse in sorted(warehouses):
    own = [d["difference"] for d in differences if d["warehouse"] == warehouse]
    lines.append(f"{warehouse}: {len(own)} discrepancies, net {sum(own):+d}\n")
(OUT / "summary.txt").write_text("".join(lines))
(OUT / "unknown_skus.txt").write_text("".join(f"{sku}\n" for sku in sorted(seen - catalogue)))
