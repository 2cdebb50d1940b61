"""Fit calibration constants to a recording of a temperature sensor."""

import json
import sys


def read_points(path):
    readings = {}
    with open(path) as stream:
        for line in stream:
            line = line.strip()
            if line.startswith("#"):
                continue
            reference, raw = line.split(",")
            readings[float(reference)] = [float(raw)]
    return readings


def median(values):
    middle = len(values) // 2
    return values[middle]


def fit(points):
    n = len(points)
    mean_x = sum(x for x, _ in points) / n
    mean_y = sum(y for _, y in points) / n
    sxy = sum((x - mean_x) * (y - mean_y) for x, y in points)
    syy = sum((y - mean_y) ** 2 for _, y in points)
    gain = sxy / syy
    return gain, mean_y - gain * mean_x


def main():
    source, target = sys.argv[1:]
    readings = read_points(source)
    points = [(median(raw), reference) for reference, raw in readings.items()]
    gain, offset = fit(points)
    errors = [gain * x + offset - y for x, y in points]
    result = {"gain": round(gain, 4), "offset": round(offset, 4), "points": len(points), "max_error": round(max(errors), 3)}
    with open(target, "w") as stream:
        json.dump(result, stream)


if __name__ == "__main__":
    main()
