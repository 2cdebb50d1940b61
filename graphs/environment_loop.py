"""The environment loop: the evolver edits the folder in a sandbox, the gates judge it, failures go back as feedback."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from langgraph.graph import END, START, StateGraph

from agents.errors import RoleDeclinedError, RoleFailedError
from agents.roles.requests import EvolveRequest, Finding
from evolution.metadata import Evolution, read_evolution, stamp
from evolution.plan import Plan
from evolution.randomness import derive_seed
from evolution.verdict import Candidate, Verdict, VerdictClass
from graphs.events import tell
from graphs.judging import judge_once
from graphs.plan_loop import occasion
from graphs.state import Attempt, Feedback, LineageState
from sandbox.errors import TaskError
from sandbox.task import Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evolution.journal import CallJournal
    from evolution.verdict import Gate
    from sandbox.protocol import Sandbox
    from sandbox.sandboxes import Sandboxes

WORKSPACE = "/task"


class Evolves(Protocol):
    """What the loop needs of a difficulty-evolver."""

    async def evolve(self, request: EvolveRequest, sandbox: Sandbox) -> str:
        """Edits the folder at `/task` in the sandbox; returns a summary.

        Raises:
            RoleDeclinedError: It says that the plan cannot be built.
            RoleFailedError: It did not get done.
        """
        ...


def build_environment_loop(
    evolver: Evolves,
    gates: Sequence[Gate],
    sandboxes: Sandboxes,
    *,
    attempts: int = 3,
    journal: CallJournal | None = None,
    feedback: bool = True,
) -> StateGraph[LineageState, None, LineageState, LineageState]:
    """The environment loop as an uncompiled graph: `edit` → `judge` → again, or the end.

    It reads `plan` and what the plan loop reads, and leaves `candidate` (the child's folder), `verdicts` and `outcome`:
    `accepted`, `rejected` when the repair budget is spent, or `infrastructure` when no judgement could be had.

    Args:
        evolver: Edits the environment.
        gates: What a child must pass.
        sandboxes: Where the evolver works and the gates run.
        attempts: Environments per plan: the first one and its repairs.
        journal: Remembers finished verdicts by candidate, so that a run taken up again does not repeat them.
        feedback: Whether a later attempt starts from the last draft and is told what was found in it; else each starts
            from the parent and knows of no other.
    """
    loop = EnvironmentLoop(evolver, tuple(gates), sandboxes, attempts, journal, feedback)
    graph = StateGraph(LineageState)
    graph.add_node("edit", loop.edit)
    graph.add_node("judge", loop.judge)
    graph.add_edge(START, "edit")
    graph.add_conditional_edges("edit", loop.after_edit, ["judge", "edit", END])
    graph.add_conditional_edges("judge", loop.again, ["edit", END])
    return graph


@dataclass(frozen=True, slots=True)
class EnvironmentLoop:
    """The nodes and edges of the environment loop; see `build_environment_loop` for what they share."""

    evolver: Evolves
    gates: tuple[Gate, ...]
    sandboxes: Sandboxes
    attempts: int
    journal: CallJournal | None
    feedback: bool = True

    async def edit(self, state: LineageState) -> dict[str, Any]:
        """Node: lets the evolver edit the parent's folder, or its own last draft, and stamps what it hands in."""
        attempt = state.get("attempt", 0) + 1
        tell(state, "environment", "editing", attempt=attempt)
        folder = Path(state["work"]) / state["axis"] / f"environment-{attempt}"
        parent, plan = Task.read(Path(state["parent"])), Plan.model_validate(state["plan"])
        request = EvolveRequest(
            occasion=occasion(state, "evolver", attempt),
            parent=parent,
            plan=plan,
            feedback=tuple(Finding(**item) for item in state.get("feedback", [])) if self.feedback else (),
        )
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        draft = folder / "draft"
        async with self.sandboxes.running(parent) as sandbox:
            draft_before = state.get("draft") if self.feedback else ""
            await sandbox.upload(Path(draft_before or state["parent"]), WORKSPACE)
            try:
                await self.evolver.evolve(request, sandbox)
            except RoleDeclinedError as error:
                why = Feedback(source="evolver", code="environment/declined", text=str(error))
                return {"candidate": "", **_failed(state, attempt, why), "attempt": self.attempts}
            except RoleFailedError as error:
                why = Feedback(source="evolver", code="environment/none", text=str(error))
                return {"attempt": attempt, "candidate": "", **_failed(state, attempt, why)}
            await sandbox.download(WORKSPACE, draft)
        try:
            child = stamp(Task.read(draft), _evolution(state, plan, parent), folder / "task", name=_name(parent, state))
        except TaskError as error:
            why = Feedback(source="task", code="task/malformed", text=str(error))
            return {"attempt": attempt, "candidate": "", "draft": str(draft), **_failed(state, attempt, why)}
        return {"attempt": attempt, "draft": str(draft), "candidate": str(child.root)}

    async def judge(self, state: LineageState) -> dict[str, Any]:
        """Node: asks the gates."""
        attempt = state["attempt"]
        child, parent = Task.read(Path(state["candidate"])), Task.read(Path(state["parent"]))
        candidate = Candidate(task=child, parent=parent, plan=Plan.model_validate(state["plan"]))

        def report(verdict: Verdict) -> None:
            tell(state, "environment", _short(verdict), attempt=attempt, gate=verdict.gate)

        verdicts = await judge_once(
            candidate, self.sandboxes, self.gates, self.journal, key=_key(state), on_verdict=report
        )
        found: dict[str, Any] = {"verdicts": [verdict.model_dump(mode="json") for verdict in verdicts]}
        failed = next((verdict for verdict in verdicts if not verdict.passed), None)
        if failed is None:
            found["base"] = (await self.sandboxes.build(child)).base
            done = Attempt(axis=state["axis"], loop="environment", attempt=attempt, result="accepted", gate="", code="")
            tell(state, "done", f"accepted along {state['axis']}")
            return {**found, "outcome": "accepted", "history": [done]}
        why = Feedback(source=failed.gate, code=failed.code, text=failed.evidence)
        return {**found, **_failed(state, attempt, why, failed.verdict_class)}

    def after_edit(self, state: LineageState) -> str:
        """Edge: a candidate is judged; without one, again or the end."""
        return "judge" if state.get("candidate") else self.again(state)

    def again(self, state: LineageState) -> str:
        """Edge: a repair, or the end when there is nothing to repair or the attempts are used up."""
        spent = state["outcome"] != "rejected" or state["attempt"] >= self.attempts
        return END if spent else "edit"


def _failed(
    state: LineageState, attempt: int, why: Feedback, verdict_class: VerdictClass = VerdictClass.INVALID
) -> dict[str, Any]:
    infrastructure = verdict_class is VerdictClass.INFRASTRUCTURE
    tell(
        state,
        "environment",
        f"failed: {why['code']}: {why['text'].splitlines()[0] if why['text'] else ''}",
        attempt=attempt,
    )
    failed = Attempt(
        axis=state["axis"],
        loop="environment",
        attempt=attempt,
        result=str(verdict_class),
        gate=why["source"],
        code=why["code"],
    )
    return {
        "outcome": "infrastructure" if infrastructure else "rejected",
        "reason": f"{why['code']}: {why['text']}",
        "feedback": [*state.get("feedback", []), why],
        "history": [failed],
    }


def _evolution(state: LineageState, plan: Plan, parent: Task) -> Evolution:
    """What the host stamps on a child; the data seed, source and licence are inherited along the lineage."""
    recorded = read_evolution(parent)
    inherited = recorded.model_dump(include={"seed", "reward", "source", "license"}) if recorded else {}
    return Evolution.model_validate(
        {
            "seed": derive_seed("data", state["seed"], state["lineage"]),
            **{name: value for name, value in inherited.items() if value is not None},
            "lineage": state["lineage"],
            "generation": state["generation"],
            "parent": parent.content_hash,
            "axis": plan.axis,
            "effort": plan.effort,
            "sequence": plan.after,
        }
    )


def _name(parent: Task, state: LineageState) -> str:
    organisation = parent.name.rpartition("/")[0] or "envolve"
    return f"{organisation}/{state['lineage']}-g{state['generation']:03d}"


def _key(state: LineageState) -> str:
    return f"{state['lineage']}/g{state['generation']:03d}/{state['axis']}/verdicts/{state['attempt']}"


def _short(verdict: Verdict) -> str:
    return "passed" if verdict.passed else f"failed: {verdict.code}"
