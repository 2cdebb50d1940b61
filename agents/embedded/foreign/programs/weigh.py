"""One reward out of the original verifier's and the checks of the steps around it.

    python3 -I -S weigh.py binary|fraction STEP

STEP is the id under which the original verifier's reward is reported. The original verifier has run before.
`binary`: 1 when it gave 1 and every check passed, else 0. `fraction`: the mean over the original reward and, for each
step, the share of its checks that pass. Where the original verifier left no usable reward, nothing is written.
"""

# ruff: noqa: T201 - its output is the verifier's log

from __future__ import annotations

import importlib.util
import json
import math
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LOGS = Path("/logs/verifier")
REWARD, RESULTS, TESTS, NAME, STATUS = "reward", "results", "tests", "name", "status"


def original() -> tuple[dict[str, Any], str, bool]:
    """What the original verifier wrote: its rewards by key, the key that counts, and whether it was JSON."""
    file = LOGS / "reward.json"
    if file.exists():
        found = json.loads(file.read_bytes().decode("utf-8"))
        if not isinstance(found, dict) or not all(is_number(value) for value in found.values()):
            raise ValueError("reward.json is not an object of numbers")
        if REWARD not in found and len(found) != 1:
            raise ValueError("reward.json has no one reward")
        return found, REWARD if REWARD in found else next(iter(found)), True
    value = float((LOGS / "reward.txt").read_bytes().decode("utf-8"))
    if not is_number(value):
        raise ValueError("reward.txt is not finite")
    return {REWARD: value}, REWARD, False


def is_number(value: object) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, (int, float)) and math.isfinite(value)


def original_units(step: str) -> list[dict[str, Any]]:
    """The units that the original verifier reported, renamed so that they belong to its step."""
    try:
        listed = json.loads((LOGS / "ctrf.json").read_bytes().decode("utf-8"))[RESULTS][TESTS]
        return [{**unit, NAME: f"{step}::{unit[NAME]}"} for unit in listed if unit[STATUS] in ("passed", "failed")]
    except (OSError, ValueError, LookupError, TypeError):
        return []


def own_units() -> list[dict[str, Any]]:
    """Every check of the inserted steps, run."""
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("run_checks", HERE / "run_checks.py")
    if spec is None or spec.loader is None:
        raise ImportError("run_checks.py cannot be loaded")
    checks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(checks)
    units = []
    for name, check in checks.units():
        status, message = checks.outcome(check)
        print(f"{status:6} {name} {message}".rstrip())
        units.append({NAME: name, STATUS: status, "duration": 0, "message": message})
    return units


def weighed(kind: str, score: float, units: list[dict[str, Any]]) -> float:
    """The reward."""
    if score >= 1 and all(unit[STATUS] == "passed" for unit in units):
        return 1
    if kind == "binary":
        return 0
    steps: dict[str, list[bool]] = {}
    for unit in units:
        steps.setdefault(unit[NAME].partition("::")[0], []).append(unit[STATUS] == "passed")
    shares = [min(max(score, 0.0), 1.0), *(sum(passed) / len(passed) for passed in steps.values())]
    return sum(shares) / len(shares)


def main() -> None:
    """Reads, runs, writes."""
    kind, step = sys.argv[1:]
    try:
        rewards, key, is_json = original()
    except (OSError, ValueError) as error:
        print(f"the original verifier left no usable reward: {error}")
        return
    score = float(rewards[key])
    units = own_units()
    rewards[key] = weighed(kind, score, units)
    whole = {
        NAME: f"{step}::reward",
        STATUS: "passed" if score >= 1 else "failed",
        "duration": 0,
        "message": f"reward {score:g}",
    }
    report = [*original_units(step), whole, *units]
    passed = sum(unit[STATUS] == "passed" for unit in report)
    summary = {
        "tests": len(report),
        "passed": passed,
        "failed": len(report) - passed,
        "pending": 0,
        "skipped": 0,
        "other": 0,
    }
    results = {"tool": {NAME: "weigh"}, "summary": {**summary, "start": 0, "stop": 0}, TESTS: report}
    (LOGS / "ctrf.json").write_text(json.dumps({RESULTS: results}, indent=1) + "\n", encoding="utf-8")
    text = json.dumps(rewards) if is_json else str(rewards[key])
    (LOGS / ("reward.json" if is_json else "reward.txt")).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
