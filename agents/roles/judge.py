"""The judge: reads a task and says which criteria it meets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from agents.errors import ModelError, RoleFailedError
from agents.prompts import prompt
from agents.roles.conversation_key import conversation_key
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
LIMITS = SessionLimits(turns=30)


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
            wrong = {
                "missing": [name for name in wanted if name not in ids],
                "no criterion": [name for name in dict.fromkeys(ids) if name not in wanted],
                "given more than once": [name for name in wanted if ids.count(name) > 1],
            }
            said = "; ".join(f"{what}: {', '.join(names)}" for what, names in wrong.items() if names)
            if said:
                raise ValueError(f"exactly one opinion for each criterion, please ({said})")
            unsaid = [o.criterion for o in given.opinions if not o.holds and not o.reason.strip()]
            if unsaid:
                raise ValueError(f"{', '.join(unsaid)}: say why it does not hold, with file and line")
            return tuple(Opinion(o.criterion, o.holds, o.reason) for o in given.opinions)

        listed = "\n".join(f"- `{criterion.id}`: {' '.join(criterion.text.split())}" for criterion in criteria)
        system = prompt(__package__, "judge.system.md")
        assignment = prompt(__package__, "judge.assignment.md", task=task.name, criteria=listed)
        call = conversation_key(ROLE, self.name, task.content_hash, system, assignment)
        try:
            model = self._gateway.chat(self._model, role=ROLE, call=call, seed=0)
        except ModelError as error:
            raise GateError(f"the judge {self.name} cannot be had: {error}") from error
        session = RoleSession(
            model,
            role=ROLE,
            system=system,
            assignment=assignment,
            tools=reading_tools(FolderWorkspace(task.root)),
            submission=Submission("submit_opinions", "Hands in the opinions.", SubmitOpinions, accept),
            limits=self._limits,
        )
        try:
            return await session.run()
        except (RoleFailedError, ModelError) as error:
            raise GateError(f"the judge {self.name} said nothing usable about {task.name}: {error}") from error
