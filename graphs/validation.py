"""The roles that gates ask, out of model strings: what `evolution.validate` hands to its gates."""

from __future__ import annotations

import asyncio
import re
import sys
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from langchain_core.language_models import BaseChatModel

from agents.budget import Budget, Spend
from agents.errors import ModelError, ModelSpecError, RoleFailedError
from agents.model import ModelGateway, check_model
from agents.roles.alternatives import ModelAuthor
from agents.roles.judge import ModelJudge
from agents.roles.rubric_writer import RubricWriter
from agents.roles.terminal import TerminalAgents
from evolution.errors import ConfigError
from evolution.gates.roles import Roles
from evolution.journal import Journal
from evolution.validation.command import MODELS
from sandbox.trial.agents import AgentChoiceError, choose_agent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agents.roles.terminal import Kind
    from evolution.gates.roles import AgentMaker
    from evolution.reviewing import Released
    from evolution.validation.job import Job
    from sandbox.trial.agent import Agent
    from sandbox.trial.agents import AgentChoice

_AGENT = re.compile(r"^(?:script:.+|[A-Za-z_][\w.]*:[A-Za-z_]\w*)$")


class ChosenAgents:
    """Agents of one trial agent, `script:FILE` or `module:Class` (`evolution.gates.roles.AgentMaker`).

    Args:
        choice: Which.
    """

    def __init__(self, choice: AgentChoice) -> None:
        self._choice = choice

    @property
    def name(self) -> str:
        """As it was chosen."""
        return self._choice.name

    def make(self, *, seed: int, hint: str = "") -> Agent:  # noqa: ARG002 - such an agent takes neither
        """A new one."""
        if self._choice.make is None:
            raise AgentChoiceError(
                f"{self._choice.name} cannot act as a solver: give a model, script:FILE or module:Class"
            )
        return self._choice.make()


@contextmanager
def roles_for(job: Job) -> Iterator[Roles]:
    """Who gives judgement in a validation, for the length of a `with` block.

    Finished model calls are kept in the job's folder, which is there and locked: a run that was ended pays for none
    twice; what earlier runs there cost counts against the budget.

    Raises:
        ConfigError: A model or an agent cannot be had.
    """
    with Journal(job.out / MODELS) as journal:
        used = journal.usage()
        spent = Spend(used.calls, used.input_tokens, used.output_tokens, used.cost_usd, used.unpriced_calls)
        gateway = ModelGateway(
            journal,
            budget=Budget(dollars=job.budget_usd, spent=spent),
            concurrency=max(job.workers, 8),
            api_base=job.api_base,
        )
        models = dict(job.models)
        yield Roles(
            solver=_agents(models.get("solver"), gateway, "solver", job.api_base),
            attacker=_agents(models.get("attacker"), gateway, "attacker", job.api_base),
            judge=ModelJudge(gateway, _checked("judge", models["judge"], job.api_base)) if "judge" in models else None,
            author=ModelAuthor(gateway, _checked("author", models["author"], job.api_base))
            if "author" in models
            else None,
        )


@contextmanager
def rubric_writing(run: Path, model: str) -> Iterator[Callable[[str, Released], str]]:
    """What turns a reviewer's reason into a rubric, for the length of a `with` block.

    Where the model fails, the reason is taken as it is.

    Raises:
        ConfigError: The model cannot be had.
    """
    spec = _checked("model", model, None)
    with Journal(run / MODELS) as journal:

        def rewrite(reason: str, item: Released) -> str:
            # A gateway of its own for each: its locks belong to the event loop that they are first waited for in.
            writer = RubricWriter(ModelGateway(journal), spec)
            try:
                return asyncio.run(writer.write(reason, item.task.instruction))
            except (ModelError, RoleFailedError) as error:
                print(f"warning: no rubric from {model} ({error}): the reason is taken as it is", file=sys.stderr)
                return reason

        yield rewrite


def _agents(model: str | None, gateway: ModelGateway, kind: Kind, api_base: str | None) -> AgentMaker | None:
    """Who acts: an agent of its own where `model` names one, else ours with that model."""
    if model is None:
        return None
    if not _AGENT.fullmatch(model):
        return TerminalAgents(gateway, _checked(kind, model, api_base), kind=kind)
    try:
        chosen = choose_agent(model)
        if model.startswith("script:") or _is_agent(model):
            return ChosenAgents(chosen)
    except AgentChoiceError as error:
        raise ConfigError(f"--{kind}: {str(error).removeprefix('--agent ')}") from error
    return TerminalAgents(gateway, _checked(kind, model, api_base), kind=kind)


def _is_agent(reference: str) -> bool:
    """Whether `module:attribute` is a class that acts by itself; a chat model, or what makes one, thinks for ours."""
    module, _, attribute = reference.partition(":")
    found = getattr(import_module(module), attribute)
    return isinstance(found, type) and (hasattr(found, "act") or not issubclass(found, BaseChatModel))


def _checked(role: str, model: str, api_base: str | None) -> str:
    try:
        check_model(model, api_base=api_base)
    except ModelSpecError as error:
        raise ConfigError(f"--{role} {model}: {error}") from error
    return model
