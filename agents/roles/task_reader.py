"""What the roles of gates share: they read a task's folder, and hand in one thing.

A conversation that came to nothing is remembered as such, and the next try is another one: replaying it would fail the
same way for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from agents.errors import ModelError, RoleFailedError
from agents.prompts import prompt
from agents.roles.conversation_key import conversation_key
from agents.roles.session import RoleSession, SessionLimits
from agents.tools import reading_tools
from agents.workspace import FolderWorkspace
from evolution.gates.errors import GateError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from agents.model import ChatFactory, ModelGateway
    from agents.roles.session import Handed, Submission
    from sandbox.task import Task

LIMITS = SessionLimits(turns=30)


class TaskReader:
    """A role of a gate: one conversation about one task, journalled under all that it starts from.

    Args:
        gateway: Where its model comes from.
        model: Model string, chat model or factory (see `ModelGateway.chat`).
        limits: What one conversation may use.
    """

    role: ClassVar[str]

    def __init__(
        self, gateway: ModelGateway, model: str | BaseChatModel | ChatFactory, *, limits: SessionLimits = LIMITS
    ) -> None:
        self._gateway, self._model, self._limits = gateway, model, limits

    @property
    def name(self) -> str:
        """The model string, or what the model calls itself."""
        return self._model if isinstance(self._model, str) else type(self._model).__name__

    async def _read(self, task: Task, prompts: str, submission: Submission[Handed], /, **fields: str) -> Handed:
        """What it hands in.

        Args:
            task: What it reads.
            prompts: `<prompts>.system.md` and `<prompts>.assignment.md` are what it is told.
            submission: What it hands in.
            fields: Those of the assignment, beside `task`.

        Raises:
            GateError: It handed in nothing usable, or there is no such model.
        """
        system = prompt(__package__, f"{prompts}.system.md")
        assignment = prompt(__package__, f"{prompts}.assignment.md", task=task.name, **fields)
        about = conversation_key(self.role, self.name, self._gateway.address, task.content_hash, system, assignment)
        journal = self._gateway.journal
        attempt = 0
        while await journal.finished(f"{about}/{attempt}/failed") is not None:
            attempt += 1
        try:
            model = self._gateway.chat(self._model, role=self.role, call=f"{about}/{attempt}", seed=attempt)
        except ModelError as error:
            raise GateError(f"the {self.role} {self.name} cannot be had: {error}") from error
        session = RoleSession(
            model,
            role=self.role,
            system=system,
            assignment=assignment,
            tools=reading_tools(FolderWorkspace(task.root)),
            submission=submission,
            limits=self._limits,
        )
        try:
            return await session.run()
        except RoleFailedError as error:
            await journal.record(f"{about}/{attempt}/failed", str(error), kind="failed")
            raise GateError(f"the {self.role} {self.name} handed in nothing for {task.name}: {error}") from error
        except ModelError as error:
            raise GateError(f"the {self.role} {self.name} handed in nothing for {task.name}: {error}") from error
