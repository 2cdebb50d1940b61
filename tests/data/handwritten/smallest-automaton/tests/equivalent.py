"""Walks both automata side by side; counts states by a minimisation of our own (pairs that can be told apart)."""

import itertools
import re
import sys

DEAD = None


def load(path):
    alphabet, start, accept, move, transitions = None, None, [], {}, 0
    with open(path) as stream:
        for line in stream:
            if line.startswith("#") or not line.strip():
                continue
            words = line.split()
            if words[0] == "alphabet":
                assert alphabet is None, "two alphabets"
                alphabet = words[1:]
            elif words[0] == "start":
                assert start is None and len(words) == 2, "start"
                start = words[1]
            elif words[0] == "accept":
                accept += words[1:]
            else:
                assert len(words) == 3, line
                assert (words[0], words[1]) not in move, f"not deterministic, or twice: {line}"
                move[words[0], words[1]] = words[2]
    assert alphabet and start and len(accept) == len(set(accept))
    assert all(symbol in alphabet for _, symbol in move)
    states = {start, *accept, *(s for s, _ in move), *move.values()}
    return alphabet, start, set(accept), move, states


def reachable(alphabet, start, move):
    found, todo = {start}, [start]
    for state in todo:
        for symbol in alphabet:
            target = move.get((state, symbol))
            if target is not DEAD and target not in found:
                found.add(target)
                todo.append(target)
    return found


def fewest(alphabet, start, accept, move):
    states = [*sorted(reachable(alphabet, start, move)), DEAD]
    step = lambda s, x: DEAD if s is DEAD else move.get((s, x))
    apart = {frozenset(p) for p in itertools.combinations(states, 2) if (p[0] in accept) != (p[1] in accept)}
    grew = True
    while grew:
        grew = False
        for p in itertools.combinations(states, 2):
            if frozenset(p) not in apart and any(frozenset((step(p[0], x), step(p[1], x))) in apart for x in alphabet):
                apart.add(frozenset(p))
                grew = True
    leaders = []
    for s in states:
        if all(frozenset((s, t)) in apart for t in leaders):
            leaders.append(s)
    return len(leaders) - 1  # without the dead one, which is always among them


mine, theirs = load("/tests/machine.txt"), load("/opt/fsm/minimal.txt")
assert set(mine[0]) == set(theirs[0]) and len(theirs[0]) == len(mine[0]), "alphabet"
assert all(re.fullmatch("[A-Za-z0-9]+", s) for s in theirs[4]), "names of states"

pairs = [(mine[1], theirs[1])]
for a, b in pairs:
    assert (a in mine[2]) == (b in theirs[2]), f"{a} and {b} differ in acceptance"
    for symbol in mine[0]:
        pair = (mine[3].get((a, symbol)), theirs[3].get((b, symbol)))
        if pair != (DEAD, DEAD) and pair not in pairs:
            pairs.append(pair)

assert reachable(theirs[0], theirs[1], theirs[3]) == theirs[4], "states that can't be reached"
best = fewest(*mine[:4])
print(f"{len(theirs[4])} states, {best} are possible")
sys.exit(len(theirs[4]) != best)
