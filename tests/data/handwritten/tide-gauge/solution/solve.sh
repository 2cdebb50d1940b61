#!/bin/bash
python3 - <<'PY'
import collections, fractions, json, os, pathlib, re
MM = {"m": "1000", "cm": "10", "mm": "1", "ft": "304.8", "in": "25.4"}
result = {}
for path in pathlib.Path(os.environ["RAW_DIR"]).glob("*.obs"):
    days = collections.defaultdict(list)
    for line in path.read_text().splitlines():
        m = re.match(r"(\S{10})T\S+ lvl=(-?[\d.]+) *(mm|cm|m|ft|in)\b(.*)", line, re.I)
        if m and m[2] != "-99.9" and "flag=M" not in m[4]:
            days[m[1]].append(fractions.Fraction(m[2]) * fractions.Fraction(MM[m[3]]))
    result[path.stem.upper()] = {
        day: {"n": len(v), "min_mm": round(min(v)), "max_mm": round(max(v)), "mean_mm": round(sum(v) / len(v))} for day, v in days.items()
    }
with open(os.environ["RESULT"], "w") as f:
    json.dump(result, f, indent=4, sort_keys=True)
PY
