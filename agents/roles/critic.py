"""The critic: reviews a plan before anything is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from agents.prompts import prompt
from agents.roles.assignment import fenced
from agents.roles.requests import Review
from agents.roles.session import RoleSession, SessionLimits, Submission
from agents.tools import Arguments, reading_tools
from agents.workspace import FolderWorkspace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.language_models import BaseChatModel

    from agents.model import ChatFactory, ModelGateway
    from agents.roles.requests import ReviewRequest

ROLE = "critic"
LIMITS = SessionLimits(turns=20)


class SubmitReview(Arguments):
    """Arguments of `submit_review`."""

    accepted: Annotated[bool, Field(description="whether the plan is worth building as it is")]
    findings: Annotated[list[str], Field(description="what must change, one finding each; empty when accepted")] = []  # noqa: RUF012 - pydantic copies defaults


class Critic:
    """Reviews plans.

    Args:
        gateway: Where its model comes from.
        model: Model string, chat model or factory (see `ModelGateway.chat`).
        rubrics: Rubrics that people added after reviewing released tasks, on top of those in the prompt.
        limits: What one conversation may use.
    """

    def __init__(
        self,
        gateway: ModelGateway,
        model: str | BaseChatModel | ChatFactory,
        *,
        rubrics: Sequence[str] = (),
        limits: SessionLimits = LIMITS,
    ) -> None:
        self._gateway, self._model, self._limits = gateway, model, limits
        self._rubrics = tuple(rubrics)

    async def review(self, request: ReviewRequest) -> Review:
        """The critic's word on a plan.

        Raises:
            RoleFailedError: It said nothing usable.
            ModelError: The model could not be had.
        """
        occasion = request.occasion
        model = self._gateway.chat(self._model, role=ROLE, call=occasion.key(ROLE), seed=occasion.seed)
        session = RoleSession(
            model,
            role=ROLE,
            system=prompt(__package__, "critic.system.md", rubrics=_listed(self._rubrics)),
            assignment=prompt(__package__, "critic.assignment.md", assignment=fenced(_facts(request))),
            tools=reading_tools(FolderWorkspace(request.parent.root)),
            submission=Submission("submit_review", "Hands in the review and ends your work.", SubmitReview, _accept),
            limits=self._limits,
            transcript=occasion.transcript,
        )
        return await session.run()


def _accept(given: SubmitReview) -> Review:
    findings = tuple(text.strip() for text in given.findings if text.strip())
    if not given.accepted and not findings:
        raise ValueError("a rejected plan needs at least one finding that says what must change")
    return Review(accepted=given.accepted, findings=findings)


def _facts(request: ReviewRequest) -> dict[str, object]:
    return {
        "role": ROLE,
        "task": request.parent.name,
        "plan": request.plan.model_dump(mode="json"),
        "difficulty": {"before": round(request.difficulty_before, 2), "after": round(request.difficulty_after, 2)},
    }


def _listed(rubrics: tuple[str, ...]) -> str:
    return "\n".join(f"- {rubric}" for rubric in rubrics) or "- (none so far)"
