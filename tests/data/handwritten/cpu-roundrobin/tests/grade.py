"""Computes what should be there from the tests' own copy of the jobs, tick by tick, and compares."""

import os
import sys

JOBS = [
    ("init", 0, [3, 5, 2]),
    ("backup", 2, [17]),
    ("shell", 1, [1, 4, 1, 4, 1, 4, 2]),
    ("cc", 6, [9, 2, 9]),
    ("mail", 7, [4, 1, 4]),
    ("web", 7, [5, 10, 5, 10, 5]),
    ("cron", 30, [2]),
    ("cc2", 30, [8, 8, 8]),
    ("idle", 95, [6, 1, 1]),
    ("late", 150, [4]),
]
QUANTUM, COST = 4, 1


def simulate():
    bursts = {name: list(b) for name, _, b in JOBS}
    io_ends, queue, queued_at = {}, [], {}
    waiting, finished, trace = dict.fromkeys(bursts, 0), {}, []
    busy_until, running, last, switching, now = 0, None, None, 0, 0
    while len(finished) < len(JOBS):
        expired = None
        if running and busy_until == now:
            name, used = running
            running = None
            bursts[name][0] -= used
            if bursts[name][0]:
                expired = name
            else:
                bursts[name].pop(0)
                if bursts[name]:
                    io_ends[name] = now + bursts[name].pop(0)
                else:
                    finished[name] = now
        joining = [name for name, arrival, _ in JOBS if arrival == now]
        joining += [name for name, _, _ in JOBS if io_ends.get(name) == now]
        joining += [expired] if expired else []
        for name in joining:
            queue.append(name)
            queued_at[name] = now
        if running is None and queue:
            name = queue.pop(0)
            waiting[name] += now - queued_at[name]
            start = now + (COST if name != last else 0)
            switching += start - now
            last = name
            used = min(QUANTUM, bursts[name][0])
            running, busy_until = (name, used), start + used
            trace.append((start, busy_until, name))
        now += 1
    end = max(finished.values())
    busy = sum(b - a for a, b, _ in trace)
    report = [f"{n} finished={finished[n]} turnaround={finished[n] - a} waiting={waiting[n]}" for n, a, _ in JOBS]
    report.append(f"cpu busy={busy} switching={switching} idle={end - busy - switching}")
    return {"trace.csv": ["start,end,job", *(f"{a},{b},{n}" for a, b, n in trace)], "report.txt": report}


good = True
for file, lines in simulate().items():
    try:
        with open(os.path.join(sys.argv[1], file), "rb") as stream:
            found = stream.read()
    except OSError as error:
        found = b""
        print(error)
    if found != "".join(f"{line}\n" for line in lines).encode():
        good = False
        print(f"{file} differs; expected:", *lines, sep="\n")
os.makedirs("/logs/verifier", exist_ok=True)
with open("/logs/verifier/reward.txt", "w") as stream:
    stream.write("1" if good else "0")
