"""The verifier's own environment (`environment_mode = "separate"`), as Harbor resolves it: a task to build."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sandbox.protocol import NO_NETWORK
from sandbox.task.limits import task_limits, task_network
from sandbox.task.toml import CONFIG_FILE
from sandbox.task.writing import appearing, copy_files
from sandbox.verification.tests_folder import tests_folder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sandbox.protocol import Network, Sandbox
    from sandbox.task import Task, TaskStep
    from sandbox.task.config import EnvironmentConfig

ENVIRONMENT = "environment"
_DEFINITIONS = ("Dockerfile", "docker-compose.yaml")


@dataclass(frozen=True, slots=True)
class VerifierEnvironment:
    """Where a verifier with an environment of its own runs.

    Attributes:
        config: Its `[environment]`.
        folder: The folder of the task that it is built from.
        bundled: Whether the tests are in its image already, so that none are uploaded.
    """

    config: EnvironmentConfig
    folder: str
    bundled: bool


def verifier_environment(task: Task, step: TaskStep) -> VerifierEnvironment:
    """What a step's verifier is built from.

    The first of these that there is: an image named in the step's `[verifier.environment]`, a Dockerfile in the step's
    tests, the same of the task, and last the agent's own environment, to which the tests are uploaded.
    """
    own = step.config.verifier.environment if step.config else None
    shared = task.config.verifier.environment
    config = own or shared or task.config.environment
    candidates = [(own, tests_folder(step))] if step.config else []
    for environment, folder in (*candidates, (shared, "tests")):
        if environment is not None and environment.docker_image:
            named = config.model_copy(update={"docker_image": environment.docker_image})
            return VerifierEnvironment(named, folder, bundled=True)
        if any(task.has(f"{folder}/{name}") for name in _DEFINITIONS):
            return VerifierEnvironment(config.model_copy(update={"docker_image": None}), folder, bundled=True)
    image = task.config.environment.docker_image
    return VerifierEnvironment(config.model_copy(update={"docker_image": image}), ENVIRONMENT, bundled=False)


def view_of(task: Task, environment: VerifierEnvironment, folder: Path) -> Task:
    """The task with the verifier's environment in place of the agent's, to be built as any other.

    Args:
        task: The task.
        environment: Its verifier's environment.
        folder: A new folder on this machine, for the files of an environment that lies among the tests.
    """
    config = task.config.model_copy(update={"environment": environment.config})
    if environment.folder == ENVIRONMENT:
        return replace(task, config=config)
    prefix = f"{environment.folder}/"
    context = task.under(environment.folder)
    empty = tuple(path for path in task.empty_folders if path.startswith(prefix))
    settings = task.under(CONFIG_FILE)
    with appearing(folder) as aside:
        copy_files(task.root, (*settings, *context), empty, aside, replaced={})
        (aside / environment.folder).rename(aside / ENVIRONMENT)
    moved = (replace(file, path=f"{ENVIRONMENT}/{file.path.removeprefix(prefix)}") for file in context)
    return replace(
        task,
        root=folder,
        config=config,
        files=tuple(sorted((*settings, *moved), key=lambda file: file.path)),
        empty_folders=tuple(f"{ENVIRONMENT}/{path.removeprefix(prefix)}" for path in empty),
    )


async def verifier_network(task: Task, view: Task, sandbox: Sandbox) -> tuple[Network, str]:
    """The network of the verifier's environment, and what is to be said of it.

    It is what its `[environment]` asks for, or none where the back end has not that. Where the agent's sandbox did not
    get the network of the task (the run was told another), it is the agent's.
    """
    if sandbox.network != task_network(task):
        return sandbox.network, ""
    network = task_network(view)
    offered = (await sandbox.backend.capabilities()).networks
    if network.mode in offered:
        return network, ""
    return (
        NO_NETWORK,
        f"the verifier asks for the network {network.mode}, which this back end has not: it ran with none",
    )


@asynccontextmanager
async def verifier_sandbox(view: Task, sandbox: Sandbox, network: Network) -> AsyncIterator[Sandbox]:
    """A sandbox of the verifier's environment, on the agent's back end.

    Raises:
        ImageError: It does not build.
        UnsupportedTaskError: The back end cannot build it, or has not its limits.
    """
    image = await sandbox.backend.build(view)
    started = await sandbox.backend.start(image, limits=task_limits(view, sandbox.limits), network=network)
    try:
        yield started
    finally:
        await asyncio.shield(started.stop())
