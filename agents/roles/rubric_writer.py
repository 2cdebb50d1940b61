"""The rubric writer: turns a person's reason for rejecting an environment into a rule for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from agents.prompts import prompt
from agents.roles.conversation_key import conversation_key
from agents.roles.session import RoleSession, SessionLimits, Submission
from agents.tools import Arguments

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from agents.model import ChatFactory, ModelGateway

ROLE = "rubric-writer"
LIMITS = SessionLimits(turns=4, tokens=200_000)


class SubmitRubric(Arguments):
    """Arguments of `submit_rubric`."""

    text: Annotated[str, Field(min_length=10, max_length=600, description="what has to hold")]


class RubricWriter:
    """Writes rubrics by a model.

    Args:
        gateway: Where its model comes from.
        model: Model string, chat model or factory (see `ModelGateway.chat`).
    """

    def __init__(self, gateway: ModelGateway, model: str | BaseChatModel | ChatFactory) -> None:
        self._gateway, self._model = gateway, model

    async def write(self, reason: str, instruction: str) -> str:
        """The rubric's text.

        Raises:
            RoleFailedError: It handed in nothing usable.
            ModelError: The model could not be had.
        """
        system = prompt(__package__, "rubric_writer.system.md")
        assignment = f"The reason:\n\n{reason}\n\nThe environment's instruction:\n\n{instruction}"
        name = self._model if isinstance(self._model, str) else type(self._model).__name__
        call = conversation_key(ROLE, name, self._gateway.address, system, assignment)
        session = RoleSession(
            self._gateway.chat(self._model, role=ROLE, call=call, seed=0),
            role=ROLE,
            system=system,
            assignment=assignment,
            tools=[],
            submission=Submission("submit_rubric", "Hands in the rubric.", SubmitRubric, _text),
            limits=LIMITS,
        )
        return await session.run()


def _text(given: SubmitRubric) -> str:
    if not given.text.strip():
        raise ValueError("the rubric is empty")
    return given.text.strip()
