#!/bin/bash
# Reverse and determinise, twice.
cat > /tmp/b.py <<'PY'
L = [l.split() for l in open("/opt/fsm/machine.txt") if not l.startswith("#")]
A = [l[1:] for l in L if l[0] == "alphabet"][0]
S = {[l[1] for l in L if l[0] == "start"][0]}
F = {s for l in L if l[0] == "accept" for s in l[1:]}
E = {(p, x, q) for p, x, q in (l for l in L if len(l) == 3 and l[0] not in ("accept", "alphabet"))}
def revdet(S, F, E):
    rev = {}
    for p, x, q in E:
        rev.setdefault((q, x), set()).add(p)
    first = frozenset(F)
    seen, todo, out = {first}, [first], set()
    while todo:
        P = todo.pop()
        for x in A:
            Q = frozenset(p for q in P for p in rev.get((q, x), ()))
            if Q:
                out.add((P, x, Q))
                if Q not in seen:
                    seen.add(Q)
                    todo.append(Q)
    return {first}, {P for P in seen if P & S}, out
S, F, E = revdet(*revdet(S, F, E))
names = {}
n = lambda s: names.setdefault(s, "Z%02d" % len(names))
with open("/opt/fsm/minimal.txt", "w") as o:
    for p, x, q in E:
        print(n(p), x, n(q), file=o)
    print("accept", *[n(f) for f in F], file=o)
    print("start", n(next(iter(S))), file=o)
    print("alphabet", *A, file=o)
PY
PYTHONHASHSEED=0 python3 /tmp/b.py
