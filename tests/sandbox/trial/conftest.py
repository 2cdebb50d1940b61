"""A task to run trials of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from sandbox.task import Task

Write = Callable[..., Task]

HELLO = {
    "task.toml": '[environment]\nnetwork_mode = "no-network"\nenv = { COLOUR = "green" }\n',
    "instruction.md": "Write hello to /app/out.\n",
    "environment/Dockerfile": "FROM python:3.12-bookworm\nWORKDIR /app\n",
    "solution/solve.sh": "echo hello > out; echo solved; echo aside >&2\n",
    "tests/test.sh": "echo judging\n"
    'if [ "$(cat /app/out 2>/dev/null)" = hello ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n',
}
STEPS = {
    "task.toml": '[environment]\nnetwork_mode = "no-network"\n[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n',
    "environment/Dockerfile": HELLO["environment/Dockerfile"],
    **{
        f"steps/{name}/{path}": text
        for name in ("one", "two")
        for path, text in {
            "instruction.md": f"Write {name} to /app/{name}.\n",
            "solution/solve.sh": f"echo {name} > /app/{name}\n",
            "tests/test.sh": f"[ -e /app/{name} ] && echo 1 > /logs/verifier/reward.txt || "
            "echo 0 > /logs/verifier/reward.txt\n",
        }.items()
    },
}


@pytest.fixture
def hello() -> Mapping[str, str]:
    """A task that wants one file with one word in it."""
    return HELLO


@pytest.fixture
def two_steps() -> Mapping[str, str]:
    """A task that wants a file in each of two steps."""
    return STEPS


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a task folder and reads it."""

    def written(files: Mapping[str, str], name: str = "task") -> Task:
        for path, text in files.items():
            (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / path).write_text(text)
        return Task.read(tmp_path / name)

    return written
