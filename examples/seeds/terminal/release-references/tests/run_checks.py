"""Runs the checks of every step and writes the reward; rendered tasks carry this file as `tests/run_checks.py`.

Each file of `checks/` defines functions `check_<unit>`; each is a test unit and fails alone. They find the readers
below and `expected(<step id>)` in scope. Start it with `python3 -I -S`, so that nothing from the working directory or
the user's site-packages is loaded.
"""
# ruff: noqa: S101, T201

import csv
import hashlib
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

TESTS = Path(__file__).resolve().parent
LOGS = Path("/logs/verifier")
LARGEST = 16 << 20
SHOWN = 160
FAULTS = (
    AssertionError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    OSError,
    RecursionError,
    csv.Error,
)


def expected(step: str) -> SimpleNamespace:
    """What is right for a step, as attributes."""
    return SimpleNamespace(**json.loads((TESTS / "expected" / f"{step}.json").read_text(encoding="utf-8")))


def read_text(path: str) -> str:
    """A result as text."""
    file = Path(path)
    assert file.is_file(), f"{path} is missing"
    assert file.stat().st_size <= LARGEST, f"{path} is larger than {LARGEST} bytes"
    return file.read_bytes().decode("utf-8")


def load_json(path: str) -> dict[str, object]:
    """A result that is one JSON object."""
    try:
        value = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise AssertionError(f"{path} is not JSON: {error}") from None
    assert isinstance(value, dict), f"{path} must hold one JSON object, it holds a {type(value).__name__}"
    return value


def load_lines(path: str) -> list[str]:
    """A result's lines; the last one must be ended too."""
    text = read_text(path)
    assert "\r" not in text, f"{path} has carriage returns"
    assert text == "" or text.endswith("\n"), f"the last line of {path} is not ended by a line feed"
    return text.split("\n")[:-1]


def load_table(path: str, delimiter: str = ",") -> tuple[list[str], list[list[str]]]:
    """A CSV or TSV result: its header and its rows."""
    rows = list(csv.reader(io.StringIO(read_text(path)), delimiter=delimiter, strict=True))
    assert rows, f"{path} is empty"
    return rows[0], rows[1:]


def has_keys(value: object, keys: list[str], what: str) -> None:
    """An object has exactly these keys."""
    assert isinstance(value, dict), f"{what} is not an object"
    assert sorted(value) == sorted(keys), f"{what} has the keys {shown(sorted(value))}, not exactly {sorted(keys)}"


def same(got: object, want: object, what: str) -> None:
    """Two values are equal; true is not 1."""
    assert isinstance(got, bool) == isinstance(want, bool), f"{what}: {shown(got)} has the wrong type"
    assert got == want, f"{what}: got {shown(got)}, which is not right"


def same_rows(got: object, digests: list[str], what: str) -> None:
    """A list has the expected rows in the expected order; the digests stand for them."""
    assert isinstance(got, list), f"{what}: not a list"
    for place, (row, digest) in enumerate(zip(got, digests, strict=False), 1):
        assert row_digest(row) == digest, f"{what}: row {place} is {shown(row)}, which is not right there"
    assert len(got) == len(digests), f"{what}: {len(got)} rows, not {len(digests)}"


def row_digest(row: object) -> str:
    """The digest that stands for a row in an expectation."""
    return hashlib.sha256(json.dumps(row, separators=(",", ":"), ensure_ascii=True).encode()).hexdigest()[:12]


def shown(value: object) -> str:
    """A value, short enough for a message."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def units() -> Iterator[tuple[str, Callable[[], None]]]:
    """Every check as (name, function), files in the order of their names, functions as they stand."""
    for file in sorted((TESTS / "checks").glob("*.py")):
        offered = dict(globals())
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), offered)  # noqa: S102 - the task's own checks
        for name, value in list(offered.items()):
            if name.startswith("check_"):
                yield f"{file.stem}::{name.removeprefix('check_')}", value


def outcome(check: Callable[[], None]) -> tuple[str, str]:
    """Runs one check: its CTRF status and message."""
    try:
        check()
    except FAULTS as error:
        return "failed", f"{type(error).__name__}: {error}"[:500]
    return "passed", ""


def main(reward: str) -> None:
    """Runs all checks, writes `ctrf.json` and `reward.txt`."""
    tests: list[dict[str, object]] = []
    for name, check in units():
        status, message = outcome(check)
        print(f"{status:6} {name} {message}".rstrip())
        tests.append({"name": name, "status": status, "duration": 0, "message": message})
    passed = sum(test["status"] == "passed" for test in tests)
    counts = {
        "tests": len(tests),
        "passed": passed,
        "failed": len(tests) - passed,
        "pending": 0,
        "skipped": 0,
        "other": 0,
    }
    summary = {**counts, "start": 0, "stop": 0}
    LOGS.mkdir(parents=True, exist_ok=True)
    report = {"results": {"tool": {"name": "run_checks"}, "summary": summary, "tests": tests}}
    (LOGS / "ctrf.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    share = 1 if tests and passed == len(tests) else passed / len(tests) if tests and reward == "fraction" else 0
    (LOGS / "reward.txt").write_text(f"{share}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "binary")
