#!/bin/bash
set -euo pipefail
cd /app/sim
python3 - <<'PYTHON'
import heapq
import os
from collections import deque

quantum, cost = int(os.environ["SIM_QUANTUM"]), int(os.environ["SIM_SWITCH_COST"])
jobs = [line.split() for line in open("jobs.txt") if line.strip() and not line.startswith("#")]
names = [j[0] for j in jobs]
arrival = [int(j[1]) for j in jobs]
bursts = [deque(map(int, j[2:])) for j in jobs]

ARRIVE, IO, EXPIRE = range(3)
events = [(t, ARRIVE, i) for i, t in enumerate(arrival)]
heapq.heapify(events)
ready, since = deque(), {}
waiting, finished = [0] * len(jobs), [0] * len(jobs)
trace, last, now, switching = [], None, 0, 0

def admit(until):
    while events and events[0][0] <= until:
        t, _, i = heapq.heappop(events)
        ready.append(i)
        since[i] = t

while events or ready:
    admit(now)
    if not ready:
        now = events[0][0]
        continue
    i = ready.popleft()
    waiting[i] += now - since[i]
    if i != last:
        now += cost
        switching += cost
    last = i
    length = min(quantum, bursts[i][0])
    trace.append((now, now + length, names[i]))
    now += length
    bursts[i][0] -= length
    if bursts[i][0]:
        heapq.heappush(events, (now, EXPIRE, i))
        continue
    bursts[i].popleft()
    if bursts[i]:
        heapq.heappush(events, (now + bursts[i].popleft(), IO, i))
    else:
        finished[i] = now

with open("trace.csv", "w") as out:
    out.write("start,end,job\n")
    out.writelines(f"{a},{b},{n}\n" for a, b, n in trace)
busy = sum(b - a for a, b, _ in trace)
with open("report.txt", "w") as out:
    for n, a, f, w in zip(names, arrival, finished, waiting):
        out.write(f"{n} finished={f} turnaround={f - a} waiting={w}\n")
    out.write(f"cpu busy={busy} switching={switching} idle={max(finished) - busy - switching}\n")
PYTHON
