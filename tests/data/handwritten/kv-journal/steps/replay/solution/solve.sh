#!/bin/bash
cd /srv/store
python3 - <<'PY'
state, open_, top = {}, {}, 0

def do(op, key, value=None):
    if op == "DEL":
        state.pop(key, None)
    else:
        state[key] = int(value) + (state.get(key, 0) if op == "ADD" else 0)

for line in open("journal.log").read().split("\n")[:-1]:
    number, op, tx, *rest = line.split(" ")
    if int(number) <= top:
        continue
    top = int(number)
    if op == "BEGIN":
        open_[tx] = []
    elif op == "COMMIT":
        for item in open_.pop(tx, []):
            do(*item)
    elif op == "ROLLBACK":
        open_.pop(tx, None)
    elif tx == "-":
        do(op, *rest)
    elif tx in open_:
        open_[tx].append((op, *rest))
open("state.tsv", "w").writelines(f"{k}\t{v}\n" for k, v in sorted(state.items()))
open("open.txt", "w").writelines(f"{t}\n" for t in sorted(open_))
PY
