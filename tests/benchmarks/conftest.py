"""Benchmarks are run as people run them."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run_benchmark(sandboxes) -> object:
    """Runs one to its end and gives what it printed; skips where this machine has no sandbox."""

    def run(name: str, *options: str) -> str:
        command = [sys.executable, str(ROOT / "benchmarks" / f"{name}.py"), *options]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    return run


def rows(path: Path) -> list[dict[str, str]]:
    """Of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
