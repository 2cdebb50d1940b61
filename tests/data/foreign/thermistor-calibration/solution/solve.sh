#!/bin/bash
set -euo pipefail
cat > /app/calibrate.py <<'PYTHON'
"""Fit calibration constants to a recording of a temperature sensor."""

import json
import statistics
import sys


def read_points(path):
    readings = {}
    with open(path) as stream:
        for line in stream:
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            try:
                reference, raw = map(float, line.split(","))
            except ValueError:
                sys.exit(2)
            readings.setdefault(reference, []).append(raw)
    return readings


def fit(points):
    n = len(points)
    mean_x = sum(x for x, _ in points) / n
    mean_y = sum(y for _, y in points) / n
    sxy = sum((x - mean_x) * (y - mean_y) for x, y in points)
    sxx = sum((x - mean_x) ** 2 for x, _ in points)
    gain = sxy / sxx
    return gain, mean_y - gain * mean_x


def main():
    source, target = sys.argv[1:]
    readings = read_points(source)
    if len(readings) < 2:
        sys.exit(3)
    points = [(statistics.median(raw), reference) for reference, raw in readings.items()]
    gain, offset = fit(points)
    error = max(abs(gain * x + offset - y) for x, y in points)
    result = {"gain": round(gain, 4), "offset": round(offset, 4), "points": len(points), "max_error": round(error, 3)}
    with open(target, "w") as stream:
        json.dump(result, stream)


if __name__ == "__main__":
    main()
PYTHON
python3 /app/calibrate.py /app/samples/bench.csv /tmp/bench.json
cat /tmp/bench.json
