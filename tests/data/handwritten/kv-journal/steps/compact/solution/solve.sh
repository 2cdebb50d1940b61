#!/bin/bash
set -e
cat > /srv/store/compact.py <<'PY'
import sys

state, pending, top = {}, {}, 0


def apply(op, key, value=None):
    if op == "SET":
        state[key] = int(value)
    elif op == "ADD":
        state[key] = state.get(key, 0) + int(value)
    else:
        state.pop(key, None)


with open(sys.argv[1]) as f:
    for line in f:
        if not line.endswith("\n"):
            break
        number, op, tx, *rest = line.split()
        if int(number) <= top:
            continue
        top = int(number)
        if op == "BEGIN":
            pending[tx] = []
        elif op == "COMMIT":
            for one in pending.pop(tx, ()):
                apply(*one)
        elif op == "ROLLBACK":
            pending.pop(tx, None)
        elif tx == "-":
            apply(op, *rest)
        elif tx in pending:
            pending[tx].append((op, *rest))

lines = [f"SET - {key} {state[key]}" for key in sorted(state)]
for tx in sorted(pending):
    lines.append(f"BEGIN {tx}")
    lines += [" ".join([op, tx, *rest]) for op, *rest in pending[tx]]
with open(sys.argv[2], "w") as f:
    f.writelines(f"{i} {line}\n" for i, line in enumerate(lines, 1))
PY
python3 /srv/store/compact.py /srv/store/journal.log /srv/store/journal.new
