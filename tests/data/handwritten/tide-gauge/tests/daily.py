import decimal, glob, json, sys
D = decimal.Decimal
decimal.getcontext().prec = 60
FACTOR = [("mm", D(1)), ("cm", D(10)), ("m", D(1000)), ("ft", D("304.8")), ("in", D("25.4"))]


def readings(path):
    for line in open(path):
        words = line.replace("=", " = ").split()
        if line[0] == "#" or ("flag" in words and words[-1] == "M"):
            continue
        text = "".join(words[words.index("=") + 1:words.index("batt")])
        unit, factor = next((u, f) for u, f in FACTOR if text.endswith(u))
        text = text.removesuffix(unit)
        if text not in ("-99.9", "****"):
            yield words[0][:10], D(text) * factor


def mm(x):
    return int(x.quantize(D(1), rounding=decimal.ROUND_HALF_EVEN))


want = {}
for path in sorted(glob.glob("/tests/raw/*.obs")):
    days = want[path[-7:-4].upper()] = {}
    for day, level in readings(path):
        days.setdefault(day, []).append(level)
    for day, v in days.items():
        days[day] = {"n": len(v), "min_mm": mm(min(v)), "max_mm": mm(max(v)), "mean_mm": mm(sum(v) / len(v))}

try:
    got = json.load(open(sys.argv[1]))
    assert set(got) == set(want), "stations"
    assert all(set(got[s]) == set(want[s]) for s in want), "dates"
except (OSError, ValueError, TypeError, AssertionError) as e:
    sys.exit(f"unusable: {e}")


def right(g, w):
    return isinstance(g, dict) and g == w and all(type(n) is int for n in g.values())


results = [right(got[s][d], want[s][d]) for s in want for d in want[s]]
print(json.dumps({"reward": sum(results) / len(results)}))
print(sum(results), "of", len(results), file=sys.stderr)
