"""Lets the service build a task's Dockerfile into a template, by the package's own builder."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from e2b import AsyncTemplate
from e2b.exceptions import BuildException
from e2b.template.dockerfile_parser import DockerfileSyntaxError

from sandbox.e2b.failures import attempted, boundary
from sandbox.errors import ImageError
from sandbox.image.context import FOLDER
from sandbox.image.instructions import DOCKERFILE, instructions
from sandbox.image.words import expand

if TYPE_CHECKING:
    from e2b.connection_config import ApiParams

    from sandbox.task import Task

_SERVER_SIDE = re.compile(r"(?:429|5\d\d):")


@dataclass(frozen=True, slots=True)
class BuiltTemplate:
    """A template made of a Dockerfile.

    Attributes:
        name: Its name in the cloud, made of what it was built from.
        workdir: Working directory that the Dockerfile sets.
        user: User that the Dockerfile sets, "" for root.
    """

    name: str
    workdir: str
    user: str


async def build_template(task: Task, params: ApiParams) -> BuiltTemplate:
    """Builds the template of a task unless the cloud has it.

    Raises:
        ImageError: The Dockerfile does not build.
        SandboxError: The service failed.
    """
    environment = task.config.environment
    cpus = environment.cpus
    memory = environment.memory_mb
    files = {file.path: [file.sha256, file.executable, file.link] for file in task.under(FOLDER)}
    key = json.dumps([files, cpus, memory], sort_keys=True)
    name = f"envolve-{hashlib.sha256(key.encode()).hexdigest()[:24]}"
    text = task.read_text(DOCKERFILE)
    built = BuiltTemplate(name, *_settings(text))
    if await attempted(f"asking for template {name}", lambda: AsyncTemplate.exists(name, **params)):
        return built
    try:
        template = AsyncTemplate(file_context_path=task.root / FOLDER).from_dockerfile(text)
    except (DockerfileSyntaxError, ValueError) as error:
        raise ImageError(f"{DOCKERFILE}: {error}") from error
    with boundary(f"building template {name}"):
        try:
            await AsyncTemplate.build(
                template, name, cpu_count=None if cpus is None else int(cpus), memory_mb=memory, **params
            )
        except BuildException as error:
            if _SERVER_SIDE.match(str(error)):
                raise
            raise ImageError(f"{task.name}: the image does not build: {error}") from error
    return built


def _settings(text: str) -> tuple[str, str]:
    """Working directory and user at the end of a Dockerfile; the service's own defaults are not Docker's."""
    workdir, user = "/", ""
    for instruction in instructions(text):
        if instruction.name == "WORKDIR":
            workdir = posixpath.normpath(posixpath.join(workdir, expand(instruction.value, {})))
        elif instruction.name == "USER":
            user = expand(instruction.value, {})
    return workdir, user
