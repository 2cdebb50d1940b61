import hashlib
import pathlib
import random
import subprocess
import sys
import tempfile

STORE = pathlib.Path("/srv/store")
FIRST = """\
1 SET - apples -1
2 SET - berries 6
3 SET - gap 1
4 SET - grapes 0
5 SET - nuts 100
6 SET - pears 7
7 SET - zest 2
8 BEGIN t6
9 ADD t6 pears 1000
"""
JOURNAL = "f7c19e7ebfd51eae587a48aee77585b70f534b83b7da849f077d1cfca07ccd2b"  # the old one


def made(rng, length):
    """A journal, and what is left of it: both are written down side by side."""
    lines, state, tx_open, number = [], {}, {}, 0
    for _ in range(length):
        number += rng.choice([1, 1, 1, 5])
        tx, key = rng.choice(["-", "a", "b", "B", "tx10", "tx9"]), f"k{rng.randrange(length // 10 + 3)}"
        op = rng.choice(["SET", "ADD", "ADD", "DEL", "SET", "BEGIN", "COMMIT", "ROLLBACK"] if tx != "-" else ["SET", "ADD", "DEL"])
        value = [str(rng.randint(-50, 50))] if op in ("SET", "ADD") else []
        words = [op, tx, key, *value] if op in ("SET", "ADD", "DEL") else [op, tx]
        lines.append(" ".join([str(number), *words]) + "\n")
        if rng.random() < 0.05:
            lines.append(f"{rng.randint(1, number)} SET - {key} 12345\n")
        todo = []
        if op == "BEGIN":
            tx_open[tx] = []
        elif op in ("COMMIT", "ROLLBACK"):
            done = tx_open.pop(tx, [])
            todo = done if op == "COMMIT" else []
        elif tx == "-":
            todo = [words]
        elif tx in tx_open:
            tx_open[tx].append(words)
        for kind, _, name, *number_ in todo:
            if kind == "DEL":
                state.pop(name, None)
            else:
                state[name] = int(number_[0]) + (state.get(name, 0) if kind == "ADD" else 0)
    out = [["SET", "-", key, str(state[key])] for key in sorted(state)]
    for tx in sorted(tx_open):
        out += [["BEGIN", tx], *tx_open[tx]]
    return "".join(lines), "".join(f"{i} {' '.join(words)}\n" for i, words in enumerate(out, 1))


def compacted(text):
    with tempfile.TemporaryDirectory() as folder:
        old, new = pathlib.Path(folder, "old"), pathlib.Path(folder, "new")
        old.write_text(text)
        done = subprocess.run(["python3", str(STORE / "compact.py"), str(old), str(new)], cwd=folder, timeout=10)
        return new.read_text() if done.returncode == 0 and old.read_text() == text else None


def main():
    if (STORE / "journal.new").read_text() != FIRST:
        return "journal.new is wrong"
    if hashlib.sha256((STORE / "journal.log").read_bytes()).hexdigest() != JOURNAL:
        return "the old journal was changed"
    if compacted("") != "" or compacted("7 BEGIN z\n") != "1 BEGIN z\n" or compacted("1 SET - a 1\n2 SET - a 2") != "1 SET - a 1\n":
        return "a very short journal comes out wrong"
    for seed, length in (1, 30), (2, 300), (3, 3000), (4, 15000):
        text, expected = made(random.Random(seed), length)
        if compacted(text) != expected:
            return f"a journal of {length} lines comes out wrong"
    return None


try:
    sys.exit(main())
except (OSError, ValueError, subprocess.TimeoutExpired) as error:
    sys.exit(f"{type(error).__name__}: {error}")
