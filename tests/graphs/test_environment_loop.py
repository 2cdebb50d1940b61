"""The environment loop on real sandboxes: what goes back to the evolver, what is stamped, and when it ends."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agents.errors import RoleFailedError
from agents.roles.requests import EvolveRequest
from evolution.journal import Journal
from evolution.metadata import read_evolution
from evolution.plan import Axis, Effort, Plan
from evolution.sequence import Sequence, Step
from evolution.verdict import Candidate, Verdict, VerdictClass
from graphs.environment_loop import build_environment_loop
from sandbox.protocol import Sandbox
from sandbox.sandboxes import Sandboxes
from sandbox.task import Task

PARENT = Path(__file__).parents[1] / "data" / "foreign" / "access-log-digest"
BEFORE = Sequence(steps=(Step(id="origin", scenario="logs", skill="digest"),))
PLAN = Plan(
    axis=Axis.LENGTH,
    effort=Effort.LOW,
    before=BEFORE,
    after=BEFORE.insert(1, (Step(id="g1a", scenario="logs", skill="count"),)),
)


@dataclass
class Evolver:
    commands: list[str | Exception]
    asked: list[EvolveRequest] = field(default_factory=list)

    async def evolve(self, request: EvolveRequest, sandbox: Sandbox) -> str:
        self.asked.append(request)
        command = self.commands[len(self.asked) - 1]
        if isinstance(command, Exception):
            raise command
        result = await sandbox.exec(command, cwd="/task")
        assert result.ok, result.error_text
        return "done"


@dataclass
class ByInstruction:
    """Passes a child whose instruction holds a word."""

    word: str
    verdict_class: VerdictClass = VerdictClass.INVALID
    name: str = "word"
    stage: int = 0
    judged: int = 0

    async def check(self, candidate: Candidate, sandboxes: Sandboxes) -> Verdict:
        self.judged += 1
        if self.word in candidate.task.instruction:
            return Verdict(gate=self.name, passed=True, verdict_class=VerdictClass.ACCEPTED)
        evidence = f"the instruction lacks {self.word}"
        return Verdict(
            gate=self.name, passed=False, verdict_class=self.verdict_class, code="word/missing", evidence=evidence
        )


@pytest.fixture
def loop(sandboxes: Sandboxes, tmp_path: Path) -> Callable:
    async def run(evolver: Evolver, gate: ByInstruction, *, attempts: int = 3, journal: Journal | None = None) -> dict:
        graph = build_environment_loop(evolver, [gate], sandboxes, attempts=attempts, journal=journal)
        return await graph.compile().ainvoke(
            {
                "lineage": "l",
                "generation": 2,
                "seed": 7,
                "parent": str(PARENT),
                "work": str(tmp_path),
                "effort": "low",
                "axis": "length",
                "plan": PLAN.model_dump(mode="json"),
            }
        )

    return run


async def test_an_accepted_child_is_stamped_by_the_host(loop: Callable) -> None:
    final = await loop(Evolver(["echo EXTRA >> instruction.md"]), ByInstruction("EXTRA"))
    assert final["outcome"] == "accepted"
    child = Task.read(Path(final["candidate"]))
    stamped = read_evolution(child)
    assert stamped is not None
    assert (stamped.lineage, stamped.generation, stamped.axis, stamped.sequence) == ("l", 2, Axis.LENGTH, PLAN.after)
    assert stamped.parent == Task.read(PARENT).content_hash
    assert child.name == "corpus/l-g002"


async def test_what_a_gate_found_goes_back_and_the_draft_is_kept(loop: Callable) -> None:
    evolver = Evolver(["echo FIRST >> instruction.md", "grep FIRST instruction.md && echo SECOND >> instruction.md"])
    final = await loop(evolver, ByInstruction("SECOND"))
    assert final["outcome"] == "accepted"
    (finding,) = evolver.asked[1].feedback
    assert (finding.source, finding.code, finding.text) == ("word", "word/missing", "the instruction lacks SECOND")
    assert [attempt["result"] for attempt in final["history"]] == ["invalid", "accepted"]


async def test_the_repair_budget_is_spent(loop: Callable) -> None:
    evolver = Evolver(["true"] * 5)
    final = await loop(evolver, ByInstruction("NEVER"), attempts=2)
    assert final["outcome"] == "rejected"
    assert len(evolver.asked) == 2
    assert final["reason"] == "word/missing: the instruction lacks NEVER"


async def test_a_folder_that_is_no_task_any_more_goes_back_with_what_is_wrong(loop: Callable) -> None:
    evolver = Evolver(["mv instruction.md kept", "mv kept instruction.md; echo OK >> instruction.md"])
    final = await loop(evolver, ByInstruction("OK"))
    assert final["outcome"] == "accepted"
    assert evolver.asked[1].feedback[0].code == "task/malformed"
    assert "instruction.md" in evolver.asked[1].feedback[0].text


async def test_an_evolver_that_gives_up_is_a_failed_attempt(loop: Callable) -> None:
    evolver = Evolver([RoleFailedError("evolver", "cannot: no git", turns=1), "echo OK >> instruction.md"])
    final = await loop(evolver, ByInstruction("OK"))
    assert [attempt["code"] for attempt in final["history"]] == ["environment/none", ""]


async def test_a_failure_of_ours_ends_the_loop_at_once(loop: Callable) -> None:
    evolver = Evolver(["true"] * 3)
    final = await loop(evolver, ByInstruction("NEVER", VerdictClass.INFRASTRUCTURE))
    assert final["outcome"] == "infrastructure"
    assert len(evolver.asked) == 1


async def test_verdicts_are_not_made_twice_with_a_journal(loop: Callable, tmp_path: Path) -> None:
    gate = ByInstruction("EXTRA")
    with Journal(tmp_path / "run.db") as journal:
        for _ in range(2):
            final = await loop(Evolver(["echo EXTRA >> instruction.md"]), gate, journal=journal)
            assert final["outcome"] == "accepted"
    assert gate.judged == 1


async def test_without_feedback_each_attempt_starts_from_the_parent_and_knows_of_no_other(
    sandboxes: Sandboxes, tmp_path: Path
) -> None:
    evolver = Evolver(["echo FIRST >> instruction.md", "! grep FIRST instruction.md && echo SECOND >> instruction.md"])
    graph = build_environment_loop(evolver, [ByInstruction("SECOND")], sandboxes, feedback=False)
    state = {"lineage": "l", "generation": 2, "seed": 7, "parent": str(PARENT), "work": str(tmp_path)}
    plan = {"effort": "low", "axis": "length", "plan": PLAN.model_dump(mode="json")}
    final = await graph.compile().ainvoke({**state, **plan})
    assert final["outcome"] == "accepted"
    assert [request.feedback for request in evolver.asked] == [(), ()]
    assert [request.occasion.attempt for request in evolver.asked] == [1, 2]
    assert evolver.asked[0].occasion.seed != evolver.asked[1].occasion.seed
