"""What failing scripts print is read, whatever it is."""

from __future__ import annotations

import pytest

from evolution.gates.diagnosis import denied, missing_commands
from sandbox.trial.result import SolutionRun, StepResult, TrialResult


def printed(text: str) -> TrialResult:
    """A trial whose solution prints something."""
    step = StepResult("main", SolutionRun(1, False, "", text), None)
    return TrialResult("oracle", (step,), None)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("bash: line 3: jqq: command not found", "jqq"),
        ("bash: /app/x.py: /usr/bin/python9: bad interpreter: No such file or directory", "/usr/bin/python9"),
        ("/usr/bin/env: 'perl6': No such file or directory", "perl6"),
        ("x.sh: 2: foo: not found", "foo"),
    ],
)
def test_a_command_that_is_not_there(text: str, name: str) -> None:
    assert missing_commands(printed(text)) == f"  {name}: not there for the solution"


@pytest.mark.parametrize("pump", ["/", "a/", ": /", "/ "])
def test_output_of_any_kind_is_read_in_one_go(pump: str) -> None:
    assert missing_commands(printed(pump * (200_000 // len(pump)))) == ""


async def test_a_path_that_no_file_can_have_is_not_looked_up() -> None:
    text = f"cat: 'a\0b': Permission denied\ncat: '{'x' * 5000}': Permission denied\n"
    assert "Permission denied" in await denied(printed(text), None, "/app")  # type: ignore[arg-type]
