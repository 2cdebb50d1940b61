"""The evolver (the paper's Modifier): turns a plan into edits of a task folder, working in a sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from agents.prompts import prompt
from agents.roles.assignment import feedback_facts, fenced
from agents.roles.session import RoleSession, SessionLimits, Submission
from agents.tools import Arguments, working_tools
from agents.workspace import SandboxWorkspace

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from agents.model import ChatFactory, ModelGateway
    from agents.roles.requests import EvolveRequest
    from sandbox.protocol import Sandbox

ROLE = "evolver"
WORKSPACE = "/task"
LIMITS = SessionLimits(turns=80, tokens=6_000_000, submissions=2)


class Submit(Arguments):
    """Arguments of `submit`."""

    summary: Annotated[str, Field(min_length=1, description="what you changed, and how you know that it holds")]


class Evolver:
    """Edits task folders by plans.

    Args:
        gateway: Where its model comes from.
        model: Model string, chat model or factory (see `ModelGateway.chat`).
        dockerfile_run: Whether the gates' back end builds Dockerfiles with `RUN` (`Capabilities.dockerfile_run`).
        limits: What one conversation may use.
    """

    def __init__(
        self,
        gateway: ModelGateway,
        model: str | BaseChatModel | ChatFactory,
        *,
        dockerfile_run: bool = False,
        limits: SessionLimits = LIMITS,
    ) -> None:
        self._gateway, self._model, self._limits = gateway, model, limits
        self._dockerfile_run = dockerfile_run

    async def evolve(self, request: EvolveRequest, sandbox: Sandbox) -> str:
        """Edits the folder at `/task` in the sandbox; returns the evolver's summary of what it changed.

        Args:
            request: The plan, and what the gates found in the folder as it is.
            sandbox: Started from the parent's image; the caller has put the folder at `/task` and takes it out again.

        Raises:
            RoleDeclinedError: It says that it cannot be done.
            RoleFailedError: It did not get done.
            ModelError: The model could not be had.
            SandboxError: The sandbox was lost.
        """
        occasion = request.occasion
        model = self._gateway.chat(self._model, role=ROLE, call=occasion.key(ROLE), seed=occasion.seed)
        session = RoleSession(
            model,
            role=ROLE,
            system=prompt(__package__, "evolver.system.md", **rules_of(dockerfile_run=self._dockerfile_run)),
            assignment=_assignment(request),
            tools=working_tools(SandboxWorkspace(sandbox, WORKSPACE)),
            submission=Submission("submit", "Hands in the folder as it is and ends your work.", Submit, _summary),
            limits=self._limits,
            may_decline=True,
            transcript=occasion.transcript,
        )
        return await session.run()


def rules_of(*, dockerfile_run: bool) -> dict[str, str]:
    """What makes a task sound, and how its folder is laid out: the parts that prompts of who writes tasks share."""
    dockerfile = "evolver.dockerfile-run.md" if dockerfile_run else "evolver.dockerfile-plain.md"
    rule = prompt(__package__, dockerfile).strip()
    return {
        "folder": prompt(__package__, "task_folder.md", dockerfile_rule=rule).strip(),
        "rules": prompt(__package__, "task_rules.md").strip(),
    }


def states_of(role: str, *, repair: bool) -> str:
    """What the folder holds: the parent, or an attempt that was turned down."""
    return prompt(__package__, f"{role}.{'repair' if repair else 'first'}.md").strip()


def _summary(given: Submit) -> str:
    return given.summary


def _assignment(request: EvolveRequest) -> str:
    facts = {
        "role": ROLE,
        "task": request.parent.name,
        "workspace": WORKSPACE,
        "generation": request.occasion.generation,
        "attempt": request.occasion.attempt,
        "plan": request.plan.model_dump(mode="json"),
        "feedback": feedback_facts(request.feedback),
    }
    return prompt(
        __package__,
        "evolver.assignment.md",
        assignment=fenced(facts),
        state=states_of("evolver", repair=bool(request.feedback)),
        before=str(request.plan.before),
        after=str(request.plan.after),
    )
