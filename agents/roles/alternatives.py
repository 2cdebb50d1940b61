"""The author of alternatives: writes solutions that are right but not the reference."""

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
from evolution.gates.roles import Alternative

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from agents.model import ChatFactory, ModelGateway
    from sandbox.task import Task

ROLE = "author"
LIMITS = SessionLimits(turns=30)


class WrittenSolution(Arguments):
    """One solution of `submit_solutions`."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w.-]{0,60}$", description="a short name, as a file's")]
    script: Annotated[str, Field(min_length=1, description="the text of its solve.sh")]


class SubmitSolutions(Arguments):
    """Arguments of `submit_solutions`."""

    solutions: Annotated[list[WrittenSolution], Field(min_length=1, description="the solutions")]


class ModelAuthor:
    """Writes alternatives by a model (`evolution.gates.roles.AlternativeAuthor`).

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

    async def alternatives(self, task: Task, count: int) -> tuple[Alternative, ...]:
        """See `AlternativeAuthor.alternatives`.

        Raises:
            GateError: It handed in nothing usable.
        """

        def accept(given: SubmitSolutions) -> tuple[Alternative, ...]:
            names = [solution.name for solution in given.solutions]
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise ValueError(f"two solutions are called {twice}: give each a name of its own")
            return tuple(Alternative(solution.name, solution.script) for solution in given.solutions[:count])

        system = prompt(__package__, "alternatives.system.md")
        assignment = prompt(__package__, "alternatives.assignment.md", task=task.name, count=str(count))
        call = conversation_key(ROLE, self.name, task.content_hash, system, assignment)
        try:
            model = self._gateway.chat(self._model, role=ROLE, call=call, seed=0)
        except ModelError as error:
            raise GateError(f"the author {self.name} cannot be had: {error}") from error
        session = RoleSession(
            model,
            role=ROLE,
            system=system,
            assignment=assignment,
            tools=reading_tools(FolderWorkspace(task.root)),
            submission=Submission("submit_solutions", "Hands in the solutions.", SubmitSolutions, accept),
            limits=self._limits,
        )
        try:
            return await session.run()
        except (RoleFailedError, ModelError) as error:
            raise GateError(f"the author {self.name} wrote no alternative of {task.name}: {error}") from error
