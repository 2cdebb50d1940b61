"""What attempts took and what a valid environment costs, out of the journal and the results."""

from __future__ import annotations

from pathlib import Path

from evolution.journal import Journal
from graphs.generations import Result
from graphs.spending import Spending, spending
from graphs.state import Attempt


def attempt(number: int, result: str = "accepted", *, axis: str = "skill", loop: str = "environment") -> Attempt:
    code = "" if result == "accepted" else "oracle/below-one"
    return Attempt(axis=axis, loop=loop, attempt=number, result=result, gate=code.partition("/")[0], code=code)


async def test_each_attempt_has_its_own_calls_and_verdicts(tmp_path: Path) -> None:
    with Journal(tmp_path / "run.db") as journal:
        for number, tokens in ((1, 100), (2, 10), (11, 5000)):
            for turn in (1, 2):
                await journal.record(
                    f"l/g001/skill/evolver/{number}/t{turn:03d}", "x", kind="call", cost_usd=0.5, input_tokens=tokens,
                    output_tokens=1, seconds=0.25,
                )  # fmt: skip
            await journal.record(f"l/g001/skill/verdicts/{number}/abc", "[]", kind="verdicts", seconds=3.0)
        await journal.record("l/g001/skill/proposer/1/t001", "x", kind="call", cost_usd=1.0, input_tokens=7)
        history = (attempt(1, loop="plan"), attempt(1, "invalid"), attempt(2))
        found = spending(journal, [Result(lineage="l", generation=1, outcome="accepted", history=history)])
    first, second = found.attempts
    assert (first.usage.calls, first.usage.input_tokens, first.usage.output_tokens) == (2, 200, 2)
    assert (first.usage.cost_usd, first.usage.seconds, first.gate_seconds) == (1.0, 0.5, 3.0)
    assert (first.result, first.code) == ("invalid", "oracle/below-one")
    assert (second.usage.input_tokens, second.result) == (20, "accepted")
    assert (found.accepted, found.first_attempts, found.assignments) == (1, (0, 1), (1, 1))
    lines = "\n".join(found.lines())
    assert "valid at first attempt  0 of 1" in lines
    assert "per attempt             112 tokens, $1.0000, 0.5 s of models, 3.0 s of gates   (2 attempts)" in lines
    per_valid = next(line for line in lines.splitlines() if line.startswith("per valid environment"))
    assert per_valid.startswith("per valid environment   10,233 tokens, $4.0000, ")
    assert per_valid.endswith(" s of models, 6.0 s of gates, planning included")


async def test_assignments_are_counted_by_their_end_and_ours_are_left_out(tmp_path: Path) -> None:
    with Journal(tmp_path / "run.db") as journal:
        results = [
            Result(lineage="a", generation=1, outcome="accepted", history=(attempt(1, "invalid"), attempt(2, "invalid"), attempt(1, axis="length"))),
            Result(lineage="b", generation=1, outcome="infrastructure", history=(attempt(1, "infrastructure"),)),
            Result(lineage="a", generation=2, outcome="rejected", history=(attempt(1, "miscalibrated"),)),
        ]  # fmt: skip
        found = spending(journal, results)
    assert found.first_attempts == (1, 3)
    assert found.assignments == (1, 3)
    assert not list(Spending((), found.whole).lines())
