"""The judge: reads a task and says which criteria it meets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from agents.roles.session import Submission
from agents.roles.task_reader import TaskReader
from agents.tools import Arguments
from evolution.gates.roles import Opinion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evolution.gates.roles import Criterion
    from sandbox.task import Task


class GivenOpinion(Arguments):
    """One opinion of `submit_opinions`."""

    criterion: Annotated[str, Field(description="its id")]
    holds: Annotated[bool, Field(description="whether it holds")]
    reason: Annotated[str, Field(description="if not: file, line, and what should be there instead")] = ""


class SubmitOpinions(Arguments):
    """Arguments of `submit_opinions`."""

    opinions: Annotated[list[GivenOpinion], Field(description="one for each criterion")]


class ModelJudge(TaskReader):
    """Judges tasks by a model (`evolution.gates.roles.Judge`). Arguments: see `TaskReader`."""

    role: ClassVar[str] = "judge"

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
        submission = Submission("submit_opinions", "Hands in the opinions.", SubmitOpinions, accept)
        return await self._read(task, "judge", submission, criteria=listed)
