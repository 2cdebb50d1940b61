"""The plan loop: the proposer edits the parent's sequence along one axis until the critic accepts it, or gives up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from langgraph.graph import END, START, StateGraph

from agents.errors import RoleDeclinedError, RoleFailedError
from agents.roles.requests import Finding, Occasion, ProposalRequest, Review, ReviewRequest
from evolution.difficulty import difficulty
from evolution.metadata import read_evolution
from evolution.plan import Axis, Effort, Plan
from evolution.randomness import derive_seed
from evolution.reference import surprisals
from graphs.events import tell
from graphs.state import Attempt, Feedback, LineageState
from sandbox.task import Task

if TYPE_CHECKING:
    from evolution.reference import Reference


class Proposes(Protocol):
    """What the loop needs of a proposer."""

    async def propose(self, request: ProposalRequest) -> Plan:
        """Proposes a plan; raises `RoleFailedError` when it has none, `RoleDeclinedError` for good."""
        ...


class Reviews(Protocol):
    """What the loop needs of a critic."""

    async def review(self, request: ReviewRequest) -> Review:
        """Reviews a plan; raises `RoleFailedError` when it says nothing usable."""
        ...


def build_plan_loop(
    proposer: Proposes, critic: Reviews, *, reference: Reference, attempts: int = 3
) -> StateGraph[LineageState, None, LineageState, LineageState]:
    """The plan loop as an uncompiled graph: `propose` → `review` → again, or the end.

    It reads `lineage`, `generation`, `seed`, `parent`, `work`, `effort` and `axis` from the state; it leaves `plan` and
    `outcome` (`accepted` or `rejected`). Code holds what a prompt cannot: the plan keeps to its axis and effort, and
    under efforts above `low` it raises D_T (low "may edit back and forth").

    Args:
        proposer: Edits the sequence.
        critic: Reviews the plan.
        reference: The distribution that D_T is measured with.
        attempts: Plans before the axis counts as failed.
    """
    loop = PlanLoop(proposer, critic, reference, attempts)
    graph = StateGraph(LineageState)
    graph.add_node("propose", loop.propose)
    graph.add_node("review", loop.review)
    graph.add_edge(START, "propose")
    graph.add_conditional_edges("propose", loop.after_propose, ["review", "propose", END])
    graph.add_conditional_edges("review", loop.again, ["propose", END])
    return graph


@dataclass(frozen=True, slots=True)
class PlanLoop:
    """The nodes and edges of the plan loop; see `build_plan_loop` for what they share."""

    proposer: Proposes
    critic: Reviews
    reference: Reference
    attempts: int

    async def propose(self, state: LineageState) -> dict[str, Any]:
        """Node: asks the proposer for a plan, and checks that it is harder."""
        attempt = state.get("attempt", 0) + 1
        tell(state, "plan", "proposing", attempt=attempt)
        parent = Task.read(Path(state["parent"]))
        recorded = read_evolution(parent)
        request = ProposalRequest(
            occasion=occasion(state, "proposer", attempt),
            parent=parent,
            effort=Effort(state["effort"]),
            sequence=recorded.sequence if recorded else None,
            feedback=tuple(Finding(**item) for item in state.get("feedback", [])),
            **surprisals(self.reference),
        )
        try:
            plan = await self.proposer.propose(request)
        except RoleDeclinedError as error:
            why = Feedback(source="proposer", code="plan/declined", text=str(error))
            return {**_rejected(state, attempt, why), "attempt": self.attempts}
        except RoleFailedError as error:
            return _rejected(state, attempt, Feedback(source="proposer", code="plan/none", text=str(error)))
        before, after = self._difficulties(plan)
        if plan.effort is not Effort.LOW and after <= before:
            text = f"the planned sequence is not harder: D_T goes from {before:.2f} to {after:.2f}; take rarer pairs"
            return _rejected(state, attempt, Feedback(source="plan", code="plan/not-harder", text=text))
        return {"attempt": attempt, "plan": plan.model_dump(mode="json")}

    async def review(self, state: LineageState) -> dict[str, Any]:
        """Node: asks the critic whether the plan is worth building."""
        attempt = state["attempt"]
        tell(state, "plan", "reviewing", attempt=attempt)
        plan = Plan.model_validate(state["plan"])
        before, after = self._difficulties(plan)
        request = ReviewRequest(
            occasion=occasion(state, "critic", attempt),
            parent=Task.read(Path(state["parent"])),
            plan=plan,
            difficulty_before=before,
            difficulty_after=after,
        )
        try:
            verdict = await self.critic.review(request)
        except RoleFailedError as error:
            return _rejected(state, attempt, Feedback(source="critic", code="plan/no-review", text=str(error)))
        if not verdict.accepted:
            text = "; ".join(verdict.findings) or "rejected without a reason"
            return _rejected(state, attempt, Feedback(source="critic", code="plan/rejected", text=text))
        done = Attempt(axis=state["axis"], loop="plan", attempt=attempt, result="accepted", gate="", code="")
        return {"outcome": "accepted", "feedback": [], "attempt": 0, "history": [done]}

    def after_propose(self, state: LineageState) -> str:
        """Edge: a plan is reviewed; without one, again or the end."""
        return "review" if state.get("plan") is not None else self.again(state)

    def again(self, state: LineageState) -> str:
        """Edge: another plan, or the end when one was accepted or the attempts are used up."""
        if state.get("outcome") == "accepted" or state["attempt"] >= self.attempts:
            return END
        return "propose"

    def _difficulties(self, plan: Plan) -> tuple[float, float]:
        before, after = (difficulty(sequence, self.reference).total for sequence in (plan.before, plan.after))
        return before, after


def _rejected(state: LineageState, attempt: int, why: Feedback) -> dict[str, Any]:
    tell(state, "plan", f"rejected: {why['text']}", attempt=attempt)
    failed = Attempt(
        axis=state["axis"], loop="plan", attempt=attempt, result="invalid", gate=why["source"], code=why["code"]
    )
    feedback = [*state.get("feedback", []), why]
    return {
        "attempt": attempt,
        "plan": None,
        "outcome": "rejected",
        "reason": why["text"],
        "feedback": feedback,
        "history": [failed],
    }


def occasion(state: LineageState, role: str, attempt: int) -> Occasion:
    """Which piece of work a role is at, with the seed that all of its randomness derives from."""
    axis = Axis(state["axis"])
    return Occasion(
        lineage=state["lineage"],
        generation=state["generation"],
        axis=axis,
        attempt=attempt,
        seed=derive_seed(state["seed"], state["lineage"], state["generation"], axis, role, attempt),
        transcript=Path(state["work"]) / axis / f"{role}-{attempt}.jsonl",
    )
