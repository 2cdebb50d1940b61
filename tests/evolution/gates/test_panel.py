"""The panel's order, cancellation, retries and classes, with gates that say when they are done.

Scheduling is all that is tested here, so the gates and the sandboxes are scripted; the other tests of this folder run
real gates on real sandboxes.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from evolution.gates.errors import GateError
from evolution.gates.outcomes import MAX_FINDINGS, accepted, finding, invalid, judged
from evolution.gates.panel import judge
from evolution.gates.registry import DEFAULT_GATES, default_gates, make_gates
from evolution.verdict import Candidate, Verdict, VerdictClass
from sandbox.errors import ImageError, SandboxLostError, TaskError, UnsupportedTaskError


@dataclass
class ScriptedGate:
    """Answers when `waits` is set (at once when `None`); raises what is in `errors` first."""

    name: str
    stage: int = 0
    passes: bool = True
    waits: asyncio.Event | None = None
    sets: asyncio.Event | None = None
    errors: list[Exception] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    async def check(self, candidate: Candidate, sandboxes: object) -> Verdict:
        self.seen.append("asked")
        self.asked.set()
        try:
            if self.waits is not None:
                await self.waits.wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            self.seen.append("cancelled")
            self.cancelled.set()
            raise
        if self.errors:
            raise self.errors.pop(0)
        if self.sets is not None:
            self.sets.set()
        self.seen.append("answered")
        return accepted(self.name) if self.passes else invalid(self.name, "bad", f"{self.name} says no")


async def verdicts_of(*gates: ScriptedGate, **options: object) -> tuple[Verdict, ...]:
    return await judge(Candidate(None), None, gates, **options)  # type: ignore[arg-type]


async def test_all_pass_in_order_of_stage_then_of_the_list() -> None:
    found = await verdicts_of(ScriptedGate("c", 1), ScriptedGate("a", 0), ScriptedGate("b", 0))
    assert [verdict.gate for verdict in found] == ["a", "b", "c"]
    assert all(verdict.passed and verdict.seconds >= 0 for verdict in found)


async def test_a_failure_keeps_the_next_stage_from_starting() -> None:
    later = ScriptedGate("later", 1)
    found = await verdicts_of(ScriptedGate("first", passes=False), later)
    assert [verdict.code for verdict in found] == ["first/bad"]
    assert later.seen == []


async def test_gates_of_a_stage_run_side_by_side() -> None:
    ready = asyncio.Event()
    found = await verdicts_of(ScriptedGate("waits", waits=ready), ScriptedGate("sets", sets=ready))
    assert [verdict.gate for verdict in found] == ["waits", "sets"]


async def test_a_failure_cancels_what_comes_after_it_and_waits_for_its_end() -> None:
    after = ScriptedGate("after", waits=asyncio.Event())
    found = await verdicts_of(ScriptedGate("first", passes=False), after)
    assert [verdict.code for verdict in found] == ["first/bad"]
    assert after.seen == ["asked", "cancelled"]


async def test_of_two_failures_the_first_in_order_is_reported_though_it_came_last() -> None:
    never = ScriptedGate("never", waits=asyncio.Event())
    quick = ScriptedGate("quick", passes=False)
    # It answers only once the gate after the failing one has been cancelled, while it is itself still awaited.
    slow = ScriptedGate("slow", passes=False, waits=never.cancelled)
    async with asyncio.timeout(60):
        found = await verdicts_of(slow, quick, never)
    assert [verdict.code for verdict in found] == ["slow/bad"]
    assert never.seen == ["asked", "cancelled"]


async def test_an_earlier_pass_is_reported_with_a_later_failure() -> None:
    second_is_done = asyncio.Event()
    told: list[str] = []
    found = await verdicts_of(
        ScriptedGate("slow", waits=second_is_done),
        ScriptedGate("quick", passes=False, sets=second_is_done),
        on_verdict=lambda verdict: told.append(verdict.gate),
    )
    assert [(verdict.gate, verdict.passed) for verdict in found] == [("slow", True), ("quick", False)]
    assert told == ["slow", "quick"]


async def test_a_lost_sandbox_is_tried_again_once() -> None:
    gate = ScriptedGate("gate", errors=[SandboxLostError("gone")])
    (verdict,) = await verdicts_of(gate)
    assert verdict.passed
    assert gate.seen == ["asked", "asked", "answered"]


async def test_sandboxes_that_keep_failing_are_infrastructure() -> None:
    gate = ScriptedGate("gate", errors=[SandboxLostError("gone"), SandboxLostError("gone again")])
    (verdict,) = await verdicts_of(gate)
    assert (verdict.verdict_class, verdict.code) == (VerdictClass.INFRASTRUCTURE, "gate/sandbox")
    assert "SandboxLostError: gone again" in verdict.evidence


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (ImageError("COPY: no such file"), VerdictClass.INVALID, "gate/image"),
        (TaskError("is gone", file="tests/test.sh"), VerdictClass.INVALID, "gate/task"),
        (UnsupportedTaskError("RUN needs docker"), VerdictClass.INFRASTRUCTURE, "build/unsupported"),
    ],
)
async def test_errors_that_say_whose_fault_it_is_are_not_tried_again(
    error: Exception, kind: VerdictClass, code: str
) -> None:
    gate = ScriptedGate("gate", errors=[error])
    (verdict,) = await verdicts_of(gate)
    assert (verdict.verdict_class, verdict.code, verdict.gate) == (kind, code, "gate")
    assert str(error) in verdict.evidence
    assert gate.seen == ["asked"]


async def test_any_other_error_of_a_gate_is_its_verdict_and_the_others_end() -> None:
    other = ScriptedGate("other", waits=asyncio.Event())
    (verdict,) = await verdicts_of(ScriptedGate("broken", errors=[ZeroDivisionError("by 0\x1b]0;title\x07")]), other)
    assert (verdict.verdict_class, verdict.code) == ("infrastructure", "broken/crashed")
    assert "ZeroDivisionError: by 0" in verdict.evidence
    assert not {"\x1b", "\x07"} & set(verdict.evidence)
    assert other.seen == ["asked", "cancelled"]


def test_a_verdict_has_a_size_and_says_nothing_that_a_terminal_obeys() -> None:
    many = [finding("endless", "line", f"\x1b[2Jline {n}", f"a\x9b{n}") for n in range(3000)]
    noted = [one.model_copy(update={"suppressed": "known"}) for one in many]
    verdict = judged("endless", [*noted, *many[:300]])
    assert len(verdict.findings) == MAX_FINDINGS
    assert not any(one.suppressed for one in verdict.findings)
    assert "and 290 more" in verdict.evidence
    assert not {"\x1b", "\x9b"} & set(verdict.evidence + verdict.findings[0].message + verdict.findings[0].where)


async def test_cancelling_the_panel_cancels_its_gates() -> None:
    gate = ScriptedGate("gate", waits=asyncio.Event())
    panel = asyncio.create_task(verdicts_of(gate))
    await gate.asked.wait()
    panel.cancel()
    with pytest.raises(asyncio.CancelledError):
        await panel
    assert gate.seen == ["asked", "cancelled"]


async def test_two_gates_of_one_name_are_refused() -> None:
    with pytest.raises(GateError, match="come twice: gate"):
        await verdicts_of(ScriptedGate("gate"), ScriptedGate("gate"))


def test_default_gates_come_by_name() -> None:
    assert [gate.name for gate in default_gates()] == list(DEFAULT_GATES)


async def test_a_thorough_panel_asks_on_but_not_what_builds_on_a_failure() -> None:
    found = await verdicts_of(
        ScriptedGate("rubric", passes=False),
        ScriptedGate("oracle", stage=2, passes=False),
        ScriptedGate("noop", stage=2),
        ScriptedGate("rerun", stage=3),
        thorough=True,
    )
    assert [(verdict.gate, verdict.passed) for verdict in found] == [
        ("rubric", False),
        ("oracle", False),
        ("noop", True),
    ]


async def test_a_revised_verdict_counts() -> None:
    def pardon(verdict: Verdict) -> Verdict:
        return verdict.model_copy(update={"passed": True})

    found = await verdicts_of(ScriptedGate("rubric", passes=False), ScriptedGate("later", stage=1), revise=pardon)
    assert [(verdict.gate, verdict.passed) for verdict in found] == [("rubric", True), ("later", True)]


def test_gates_of_ones_own_by_module_and_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "class Mine:\n    name, stage = 'mine', 0\n    async def check(self, candidate, sandboxes): ...\nclass No: ...\n"
    (tmp_path / "own_gates.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    assert [gate.name for gate in make_gates(["noop", "own_gates:Mine"])] == ["noop", "mine"]
    for name, said in [
        ("nope", "choose from rubric"),
        ("no.such.module:Gate", "cannot be imported"),
        ("own_gates:Nope", "has no Nope"),
        ("own_gates:No", "has to have name"),
    ]:
        with pytest.raises(GateError, match=said):
            make_gates([name])
