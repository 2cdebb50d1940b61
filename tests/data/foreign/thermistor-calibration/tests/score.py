"""Runs the repaired script on hidden recordings and writes reward.json."""

import json
import pathlib
import subprocess
import tempfile

FIXTURES = pathlib.Path("/tests/fixtures")
FITS = {
    "single.csv": {"gain": 0.25, "offset": -5.0, "points": 3, "max_error": 0.0},
    "repeated.csv": {"gain": 0.5017, "offset": -9.9989, "points": 4, "max_error": 0.07},
    "negative.csv": {"gain": -0.0999, "offset": 29.985, "points": 4, "max_error": 0.028},
}
REFUSED = {"one_reference.csv": 3, "broken.csv": 2}
TOLERANCE = {"gain": 0.00011, "offset": 0.00011, "points": 0, "max_error": 0.0011}


def run(name, target):
    command = ["python3", "/app/calibrate.py", str(FIXTURES / name), str(target)]
    return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode


def fits(name, target):
    if run(name, target) != 0:
        return False
    try:
        found = json.loads(target.read_text())
        return all(abs(found[key] - value) <= TOLERANCE[key] for key, value in FITS[name].items())
    except (OSError, ValueError, KeyError, TypeError):
        return False


def refuses(name, target):
    return run(name, target) == REFUSED[name] and not target.exists()


passed = 0
with tempfile.TemporaryDirectory() as folder:
    for name in [*FITS, *REFUSED]:
        target = pathlib.Path(folder) / f"{name}.json"
        good = fits(name, target) if name in FITS else refuses(name, target)
        print("PASS" if good else "FAIL", name)
        passed += good

cases = len(FITS) + len(REFUSED)
logs = pathlib.Path("/logs/verifier")
logs.mkdir(parents=True, exist_ok=True)
(logs / "reward.json").write_text(json.dumps({"reward": passed / cases, "cases": cases, "passed": passed}))
