"""The writer: an evolver that hands in all files in one answer, without a sandbox to try them in.

It is what *AutoEnvScaling* compares the loop with: `prompt`, and with findings of the gates `prompt+feedback`
("three ways to generate, compared").
"""

from __future__ import annotations

import base64
from collections import Counter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, field_validator

from agents.errors import RoleFailedError
from agents.prompts import prompt
from agents.roles.assignment import feedback_facts, fenced
from agents.roles.evolver import ROLE, rules_of, states_of
from agents.roles.folder_text import folder_text
from agents.roles.session import RoleSession, SessionLimits, Submission
from agents.tools import Arguments
from agents.workspace import SandboxWorkspace, WorkspaceError, relative_path

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from agents.model import ChatFactory, ModelGateway
    from agents.roles.requests import EvolveRequest
    from sandbox.protocol import Sandbox

WORKSPACE = "/task"
LIMITS = SessionLimits(turns=2, repairs=1, submissions=1, tokens=2_000_000)
"""One answer; a second one only where the first cannot be read."""


class WrittenFile(Arguments):
    """One file of `submit_files`."""

    path: Annotated[str, Field(min_length=1, description="relative to the task folder")]
    content: Annotated[str, Field(description="the whole file")]
    encoding: Annotated[Literal["utf-8", "base64"], Field(description="of `content`")] = "utf-8"
    executable: Annotated[bool, Field(description="whether it has its run bit")] = False

    @field_validator("path")
    @classmethod
    def _inside(cls, path: str) -> str:
        return _inside(path)

    def data(self) -> bytes:
        """Its bytes.

        Raises:
            ValueError: `content` is not what `encoding` says.
        """
        try:
            if self.encoding == "utf-8":
                return self.content.encode("utf-8")
            return base64.b64decode("".join(self.content.split()), validate=True)
        except UnicodeEncodeError as error:
            raise ValueError(f"{self.path}: `content` holds half a character ({error.reason})") from error
        except ValueError as error:  # binascii.Error is one
            raise ValueError(f"{self.path}: `content` is not base64 ({error})") from error


class SubmitFiles(Arguments):
    """Arguments of `submit_files`."""

    files: Annotated[list[WrittenFile], Field(description="every new or changed file, whole")] = []  # noqa: RUF012 - pydantic copies defaults
    removed: Annotated[list[str], Field(description="paths of files that are to go")] = []  # noqa: RUF012
    summary: Annotated[str, Field(min_length=1, description="what is changed, and why it holds")]

    @field_validator("removed")
    @classmethod
    def _all_inside(cls, removed: list[str]) -> list[str]:
        return [_inside(path) for path in removed]


class Writer:
    """Writes task folders by plans; takes the place of `agents.roles.evolver.Evolver`.

    Args:
        gateway: Where its model comes from.
        model: Model string, chat model or factory (see `ModelGateway.chat`).
        dockerfile_run: Whether the gates' back end builds Dockerfiles with `RUN`.
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
        """Writes the folder at `/task`; returns the summary. The sandbox only holds the files: nothing runs in it.

        Raises:
            RoleDeclinedError: It says that it cannot be done.
            RoleFailedError: It handed in nothing usable.
            ModelError: The model could not be had.
            SandboxError: The sandbox was lost.
        """
        occasion = request.occasion
        workspace = SandboxWorkspace(sandbox, WORKSPACE)
        model = self._gateway.chat(self._model, role=ROLE, call=occasion.key(ROLE), seed=occasion.seed)
        session = RoleSession(
            model,
            role=ROLE,
            system=prompt(__package__, "writer.system.md", **rules_of(dockerfile_run=self._dockerfile_run)),
            assignment=_assignment(request, await _shown(workspace)),
            tools=[],
            submission=Submission("submit_files", "Hands in the files and ends your work.", SubmitFiles, _checked),
            limits=self._limits,
            may_decline=True,
            transcript=occasion.transcript,
        )
        handed = await session.run()
        try:
            # First what goes: a folder may take the place of a file.
            for path in handed.removed:
                await workspace.remove(path)
            for file in handed.files:
                await workspace.write(file.path, file.data(), executable=file.executable)
        except WorkspaceError as error:
            raise RoleFailedError(ROLE, f"what it handed in cannot be written: {error}", turns=1) from error
        return handed.summary


async def _shown(workspace: SandboxWorkspace) -> str:
    try:
        return await folder_text(workspace)
    except WorkspaceError as error:
        raise RoleFailedError(ROLE, f"the folder cannot be shown to it: {error}", turns=0) from error


def _inside(path: str) -> str:
    """The path relative to the task folder, in its shortest spelling."""
    try:
        found = relative_path(path.removeprefix(f"{WORKSPACE}/"))
    except WorkspaceError as error:
        raise ValueError(str(error)) from error
    if found == PurePosixPath("."):
        raise ValueError(f"{path!r}: name a file in the task folder, not the folder itself")
    return str(found)


def _checked(given: SubmitFiles) -> SubmitFiles:
    for file in given.files:
        file.data()
    paths = Counter(file.path for file in given.files)
    twice = sorted(path for path, count in paths.items() if count > 1)
    if twice:
        raise ValueError(f"{', '.join(twice)}: handed in twice; give each file once, whole")
    both = sorted(paths.keys() & set(given.removed))
    if both:
        raise ValueError(f"{', '.join(both)}: both handed in and removed; do one of the two")
    below = sorted(f"{path} (below {up})" for path in paths for up in PurePosixPath(path).parents if str(up) in paths)
    if below:
        raise ValueError(f"{', '.join(below)}: a path cannot be a file and a folder at once")
    return given


def _assignment(request: EvolveRequest, files: str) -> str:
    facts = {
        "role": "writer",
        "task": request.parent.name,
        "generation": request.occasion.generation,
        "attempt": request.occasion.attempt,
        "plan": request.plan.model_dump(mode="json"),
        "feedback": feedback_facts(request.feedback),
    }
    return prompt(
        __package__,
        "writer.assignment.md",
        assignment=fenced(facts),
        state=states_of("writer", repair=bool(request.feedback)),
        before=str(request.plan.before),
        after=str(request.plan.after),
        files=files,
    )
