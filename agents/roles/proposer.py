"""The proposer: reads a task, extracts its sequence and edits it along one axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field

from agents.prompts import prompt
from agents.roles.assignment import feedback_facts, fenced
from agents.roles.session import RoleSession, SessionLimits, Submission
from agents.tools import Arguments, reading_tools
from agents.workspace import FolderWorkspace
from evolution.plan import Plan
from evolution.sequence import Sequence

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from agents.model import ChatFactory, ModelGateway
    from agents.roles.requests import ProposalRequest

ROLE = "proposer"
LIMITS = SessionLimits(turns=30)


def _with_steps(value: Any) -> Any:
    # Models often leave the one key out; what they mean is plain.
    return {"steps": value} if isinstance(value, list) else value


Given = Annotated[Sequence, BeforeValidator(_with_steps)]


class SubmitPlan(Arguments):
    """Arguments of `submit_plan`."""

    before: Annotated[Given, Field(description="the parent's sequence as it is")]
    after: Annotated[Given, Field(description="the sequence of the harder task")]
    rationale: Annotated[
        str, Field(min_length=1, description="why this is harder, and how later steps need what is new")
    ]


class Proposer:
    """Proposes plans.

    Args:
        gateway: Where its model comes from.
        model: Model string, chat model or factory (see `ModelGateway.chat`).
        limits: What one conversation may use.
    """

    def __init__(
        self, gateway: ModelGateway, model: str | BaseChatModel | ChatFactory, *, limits: SessionLimits = LIMITS
    ) -> None:
        self._gateway, self._model, self._limits = gateway, model, limits

    async def propose(self, request: ProposalRequest) -> Plan:
        """A plan that keeps to its axis and effort.

        Raises:
            RoleDeclinedError: It says that it cannot be done.
            RoleFailedError: No such plan came.
            ModelError: The model could not be had.
        """
        occasion = request.occasion
        model = self._gateway.chat(self._model, role=ROLE, call=occasion.key(ROLE), seed=occasion.seed)

        def accept(given: SubmitPlan) -> Plan:
            if request.sequence is not None and given.before != request.sequence:
                raise ValueError(f"`before` must be the recorded sequence of the task: {request.sequence}")
            return Plan(
                axis=occasion.axis,
                effort=request.effort,
                before=given.before,
                after=given.after,
                rationale=given.rationale,
            )

        session = RoleSession(
            model,
            role=ROLE,
            system=prompt(__package__, "proposer.system.md"),
            assignment=_assignment(request),
            tools=reading_tools(FolderWorkspace(request.parent.root)),
            submission=Submission("submit_plan", "Hands in the plan and ends your work.", SubmitPlan, accept),
            limits=self._limits,
            may_decline=True,
            transcript=occasion.transcript,
        )
        return await session.run()


def new_step_ids(generation: int, taken: tuple[str, ...], count: int = 6) -> list[str]:
    """Ids for inserted steps that no step of the lineage has had, as in `g3a`, `g3b`."""
    letters = (chr(ord("a") + number) for number in range(26))
    free = [name for letter in letters if (name := f"g{generation}{letter}") not in taken]
    return free[:count]


def _assignment(request: ProposalRequest) -> str:
    occasion = request.occasion
    taken = request.sequence.ids if request.sequence is not None else ()
    facts = {
        "role": ROLE,
        "axis": str(occasion.axis),
        "effort": str(request.effort),
        "task": request.parent.name,
        "generation": occasion.generation,
        "sequence": request.sequence.model_dump(mode="json") if request.sequence is not None else None,
        "new_step_ids": new_step_ids(occasion.generation, taken),
        "reference": {
            "scenario": dict(request.scenario_surprisal),
            "skill": {name: dict(skills) for name, skills in request.skill_surprisal.items()},
        },
        "feedback": feedback_facts(request.feedback),
    }
    return prompt(
        __package__,
        "proposer.assignment.md",
        axis=str(occasion.axis),
        effort=str(request.effort),
        assignment=fenced(facts),
    )
