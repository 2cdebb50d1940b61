"""A run's parts put together from its settings: back end, gateway, roles, gates, graph."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from agents.budget import Budget, Spend
from agents.errors import ModelSpecError
from agents.model import ModelGateway, check_model
from agents.roles.critic import Critic
from agents.roles.evolver import Evolver
from agents.roles.judge import ModelJudge
from agents.roles.proposer import Proposer
from agents.roles.writer import Writer
from evolution.config import ROLES
from evolution.errors import ConfigError
from evolution.gates.errors import GateError
from evolution.gates.registry import make_gates
from evolution.gates.roles import Roles
from evolution.gates.settings import GateSettings
from evolution.progress import silent
from evolution.reference import shipped
from evolution.rubrics import read_rubrics
from evolution.run_folder import RUBRICS_FILE
from graphs.environment_loop import build_environment_loop
from graphs.evolve import build_evolve
from graphs.forecast import JUDGING
from graphs.generations import Run
from graphs.plan_loop import build_plan_loop
from sandbox.backends import load_backend
from sandbox.errors import SandboxUnavailableError
from sandbox.sandboxes import Sandboxes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from evolution.config import RunConfig
    from evolution.gates.roles import Criterion, Opinion
    from evolution.progress import Listener
    from evolution.run_folder import RunFolder
    from evolution.verdict import Gate
    from sandbox.protocol import SandboxBackend
    from sandbox.task import Task

SEED_GATES = ("build", "oracle", "noop")


def check(config: RunConfig) -> None:
    """Makes sure that all a run's settings name can be had; starts and writes nothing.

    Raises:
        EvolutionError: A gate, a model, the back end, a base or the reference distribution cannot be had; says which.
    """
    has_copy = (config.out / RUBRICS_FILE).exists()  # a run that is taken up again goes by its own
    _gates(config, Roles(judge=_NobodyYet()), config.rubrics)
    if config.rubrics is not None and not has_copy:
        read_rubrics(config.rubrics, must_exist=True)
    shipped(config.domain)
    try:
        _backend(config)
    except SandboxUnavailableError as error:
        raise ConfigError(f"--sandbox {config.sandbox}: {error}") from error
    except ValueError as error:
        raise ConfigError(str(error)) from error
    roles = [role for role in ROLES if role != "judge" or JUDGING in config.gates]
    if JUDGING in config.gates and config.model_for("judge").startswith("embedded/"):
        raise ConfigError(f"gate {JUDGING} needs a model that reads: the embedded author cannot (--judge-model)")
    for role in roles:
        try:
            check_model(config.model_for(role), api_base=config.api_base)
        except ModelSpecError as error:
            raise ConfigError(f"the {role}'s model: {error}") from error


def _backend(config: RunConfig) -> SandboxBackend:
    options = {"userns": config.userns} if config.sandbox == "bubblewrap" else {}
    return load_backend(config.sandbox, base=config.base, **options)


@asynccontextmanager
async def assemble(folder: RunFolder, *, listen: Listener = silent) -> AsyncIterator[Run]:
    """A `Run` for the length of a `with` block; what an earlier, killed run left of sandboxes is swept first.

    Args:
        folder: The open run folder.
        listen: Is told what happens.

    Raises:
        SandboxUnavailableError: The back end cannot run on this machine.
    """
    config = folder.config
    backend = _backend(config)
    capabilities = await backend.capabilities()
    await backend.sweep()
    try:
        sandboxes = Sandboxes(backend, concurrency=sandbox_slots(config))
        used = folder.journal.usage()
        spent = Spend(used.calls, used.input_tokens, used.output_tokens, used.cost_usd, used.unpriced_calls)
        gateway = ModelGateway(
            folder.journal,
            budget=Budget(dollars=config.budget_usd, spent=spent),
            concurrency=max(config.workers, 8),
            api_base=config.api_base,
        )
        reference = shipped(config.domain)
        plan_loop = build_plan_loop(
            Proposer(gateway, config.model_for("proposer")),
            Critic(gateway, config.model_for("critic"), rubrics=[rubric.text for rubric in folder.rubrics.active]),
            reference=reference,
            attempts=config.plan_attempts,
        )
        environment_loop = build_environment_loop(
            (Evolver if config.mode == "loop" else Writer)(
                gateway, config.model_for("evolver"), dockerfile_run=capabilities.dockerfile_run
            ),
            _gates(config, Roles(judge=ModelJudge(gateway, config.model_for("judge"))), folder.rubrics_file),
            sandboxes,
            attempts=config.repair_attempts,
            journal=folder.journal,
            feedback=config.mode != "prompt",
        )
        yield Run(
            folder=folder,
            graph=build_evolve(plan_loop, environment_loop, axes=config.axes),
            seed_gates=make_gates(SEED_GATES),
            sandboxes=sandboxes,
            reference=reference,
            listen=listen,
            on_drain=gateway.drain,
        )
    finally:
        await backend.close()


def _gates(config: RunConfig, roles: Roles, rubrics: Path | None) -> tuple[Gate, ...]:
    return make_gates(config.gates, GateSettings(reruns=config.reruns, rubrics=rubrics), roles)


class _NobodyYet:
    """Stands in for the judge while it is only checked that the gates can be made."""

    name = "nobody"

    async def judge(self, task: Task, _: Sequence[Criterion]) -> tuple[Opinion, ...]:
        raise GateError(f"nobody is there yet to judge {task.name}")


def sandbox_slots(config: RunConfig) -> int:
    """Sandboxes alive at once: as asked, else two per core and at least one per worker."""
    return config.sandboxes or max(config.workers, 2 * (os.cpu_count() or 1))
