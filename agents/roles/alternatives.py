"""The author of alternatives: writes solutions that are right but not the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from agents.roles.session import Submission
from agents.roles.task_reader import TaskReader
from agents.tools import Arguments
from evolution.gates.roles import Alternative

if TYPE_CHECKING:
    from sandbox.task import Task


class WrittenSolution(Arguments):
    """One solution of `submit_solutions`."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w.-]{0,60}$", description="a short name, as a file's")]
    script: Annotated[str, Field(min_length=1, description="the text of its solve.sh")]


class SubmitSolutions(Arguments):
    """Arguments of `submit_solutions`."""

    solutions: Annotated[list[WrittenSolution], Field(min_length=1, description="the solutions")]


class ModelAuthor(TaskReader):
    """Writes alternatives by a model (`evolution.gates.roles.AlternativeAuthor`). Arguments: see `TaskReader`."""

    role: ClassVar[str] = "author"

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

        submission = Submission("submit_solutions", "Hands in the solutions.", SubmitSolutions, accept)
        return await self._read(task, "alternatives", submission, count=str(count))
