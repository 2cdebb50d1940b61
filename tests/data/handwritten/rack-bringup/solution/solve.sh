#!/bin/bash
set -euo pipefail
python3 - <<'PYTHON'
import os

LAB = "/home/user/lab/"
requires, after = {}, {}
for line in open(LAB + "services.deps"):
    if line.startswith("#") or not line.strip():
        continue
    name, _, rest = line.partition(":")
    hard, _, soft = rest.partition(";")
    requires[name.strip()], after[name.strip()] = set(hard.split()), set(soft.split())

startable, grew = set(), True
while grew:
    more = {n for n in requires if requires[n] <= startable}
    grew = more != startable
    startable = more

def reach(start, edges):
    seen, stack = set(), [start]
    while stack:
        for other in edges.get(stack.pop(), ()):
            if other not in seen:
                seen.add(other)
                stack.append(other)
    return seen

both = {n: (requires[n] | after[n]) & startable for n in startable}
dropped = sorted((a, b) for a in startable for b in after[a] & startable if a == b or a in reach(b, both))
# An entry that is also required is never only "after": the requirement stays.
left = {n: (requires[n] | {b for b in after[n] & startable if (n, b) not in dropped}) for n in startable}
order, placed = [], set()
while len(order) < len(startable):
    for n in sorted(startable - placed):
        if left[n] <= placed:
            order.append(n)
            placed.add(n)
            break

blocked = []
for n in set(requires) - startable:
    below = reach(n, requires)
    why = "cycle" if n in below else "missing" if below - set(requires) else "blocked"
    blocked.append(f"{n} {why}")
for file, lines in [("order", order), ("dropped", sorted(f"{a} after {b}" for a, b in dropped)), ("blocked", sorted(blocked))]:
    with open(f"{LAB}{file}.txt", "w") as out:
        out.writelines(f"{line}\n" for line in lines)
PYTHON
