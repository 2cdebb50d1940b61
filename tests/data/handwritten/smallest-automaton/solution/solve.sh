#!/bin/bash
set -e
python3 - <<'PYTHON'
lines = [l.split() for l in open("/opt/fsm/machine.txt") if l.strip() and l[0] != "#"]
alphabet = next(l[1:] for l in lines if l[0] == "alphabet")
start = next(l[1] for l in lines if l[0] == "start")
accept = {s for l in lines if l[0] == "accept" for s in l[1:]}
move = {(l[0], l[1]): l[2] for l in lines if l[0] not in ("alphabet", "start", "accept")}

reach, stack = {start}, [start]
while stack:
    s = stack.pop()
    for x in alphabet:
        t = move.get((s, x))
        if t and t not in reach:
            reach.add(t)
            stack.append(t)
live = accept & reach
while True:
    more = live | {s for s in reach for x in alphabet if move.get((s, x)) in live}
    if more == live:
        break
    live = more

# Moore: refine until the number of classes stays the same; None is the dead state
block = {s: int(s in accept) for s in live}
while True:
    key = {s: (block[s], *(block.get(move.get((s, x))) for x in alphabet)) for s in live}
    numbers = {k: i for i, k in enumerate(sorted(set(key.values()), key=repr))}
    new = {s: numbers[key[s]] for s in live}
    if len(set(new.values())) == len(set(block.values())):
        break
    block = new

out = ["alphabet " + " ".join(alphabet), f"start m{block[start]}"]
out += [f"accept m{b}" for b in sorted({block[s] for s in live & accept})]
out += sorted({f"m{block[s]} {x} m{block[move[s, x]]}" for s in live for x in alphabet if move.get((s, x)) in live})
open("/opt/fsm/minimal.txt", "w").write("\n".join(out) + "\n")
PYTHON
