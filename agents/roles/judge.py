"""The judge: reads a task and says which criteria it meets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from agents.errors import ModelError, RoleFailedError
from agents.prompts import prompt
from agents.roles.session import RoleSession, SessionLimits, Submission
from agents.tools import Arguments, reading_tools
from agents.workspace import FolderWorkspace
from evolution.gates.errors import GateError
from evolution.gates.roles import Opinion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.language_models import BaseChatModel

    from agents.model import ChatFactory, ModelGateway
    from evolution.gates.roles import Criterion
    from sandbox.task import Task

ROLE = "judge"
LIMITS = SessionLimits(turns=30, submissions=2)


class GivenOpinion(Arguments):
    """One opinion of `submit_opinions`."""

    criterion: Annotated[str, Field(description="its id")]
    holds: Annotated[bool, Field(description="whether it holds")]
    reason: Annotated[str, Field(description="if not: file, line, and what should be there instead")] = ""


class SubmitOpinions(Arguments):
    """Arguments of `submit_opinions`."""

    opinions: Annotated[list[GivenOpinion], Field(description="one for each criterion")]


class ModelJudge:
    """Judges tasks by a model (`evolution.gates.roles.Judge`).

    Args:
        gateway: Where its model comes from.
        model: Model string, chat model or factory (see `ModelGateway.chat`).
        limits: What one conversation may use.
    """

    def __init__(
        self, gateway: ModelGateway, model: str | BaseChatModel | ChatFactory, *, limits: SessionLimits = LIMITS
    ) -> None:
        self._gateway, self._model, self._limits = gateway, model, limits

    @property
    def name(self) -> str:
        """The model string, or what the model calls itself."""
        return self._model if isinstance(self._model, str) else type(self._model).__name__

    async def judge(self, task: Task, criteria: Sequence[Criterion]) -> tuple[Opinion, ...]:
        """See `Judge.judge`."""
        wanted = [criterion.id for criterion in criteria]

        def accept(given: SubmitOpinions) -> tuple[Opinion, ...]:
            ids = [opinion.criterion for opinion in given.opinions]
            missing, unknown = sorted(set(wanted) - set(ids)), sorted(set(ids) - set(wanted))
            if missing or unknown or len(ids) != len(set(ids)):
                raise ValueError(
                    f"one opinion for each criterion: missing {missing}, unknown {unknown}, given {len(ids)}"
                )
            unsaid = [o.criterion for o in given.opinions if not o.holds and not o.reason.strip()]
            if unsaid:
                raise ValueError(f"{', '.join(unsaid)}: say why it does not hold, with file and line")
            return tuple(Opinion(o.criterion, o.holds, o.reason) for o in given.opinions)

        listed = "\n".join(f"- `{criterion.id}`: {' '.join(criterion.text.split())}" for criterion in criteria)
        session = RoleSession(
            self._gateway.chat(self._model, role=ROLE, call=f"{ROLE}/{task.content_hash[:16]}", seed=0),
            role=ROLE,
            system=prompt(__package__, "judge.system.md"),
            assignment=prompt(__package__, "judge.assignment.md", task=task.name, criteria=listed),
            tools=reading_tools(FolderWorkspace(task.root)),
            submission=Submission("submit_opinions", "Hands in the opinions.", SubmitOpinions, accept),
            limits=self._limits,
        )
        try:
            return await session.run()
        except (RoleFailedError, ModelError) as error:
            raise GateError(f"the judge {self.name} said nothing usable about {task.name}: {error}") from error
