"""What is measured: the back ends that this machine has, each with the image of one hello-world task."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.backends import load_backend
from sandbox.errors import SandboxUnavailableError
from sandbox.protocol import Image, SandboxBackend
from sandbox.task import Task

HARBOR = Path(__file__).parents[2] / ".venv-harbor" / "bin"


def hello_world(folder: Path, image: str = "python:3.12-bookworm") -> Path:
    """Writes a task that a line solves and a line judges; returns its folder."""
    root = folder / "hello-world"
    for name in ("environment", "solution", "tests"):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "task.toml").write_text(
        'schema_version = "1.4"\n\n[task]\nname = "envolve/hello-world"\n\n[environment]\nnetwork_mode = "no-network"\n'
    )
    (root / "instruction.md").write_text("Write hello to /app/hello.txt.\n")
    (root / "environment" / "Dockerfile").write_text(f"FROM {image}\nWORKDIR /app\n")
    (root / "solution" / "solve.sh").write_text("#!/bin/bash\necho hello > /app/hello.txt\n")
    judge = "if grep -qx hello /app/hello.txt; then echo 1; else echo 0; fi > /logs/verifier/reward.txt"
    (root / "tests" / "test.sh").write_text(f"#!/bin/bash\n{judge}\n")
    return root


@dataclass
class Subjects:
    """The back ends at hand.

    Attributes:
        folder: Where the task lies.
        base: What its FROM line stands for.
        backends: Name, back end and the image of the task there.
        missing: What can't be measured here, and why.
    """

    folder: Path
    base: list[str]
    backends: dict[str, tuple[SandboxBackend, Image]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def opened(cls, folder: Path, base: list[str]) -> AsyncIterator[Subjects]:
        """Opens what is there, and closes it in the end."""
        subjects = cls(folder, base)
        task = Task.read(hello_world(folder))
        opened: list[SandboxBackend] = []
        try:
            for name in ("bubblewrap", "docker"):
                if name == "docker" and any(rule.endswith("=host") for rule in base):
                    subjects.missing.append("docker: the base is this machine's own /usr; name a root with --base")
                    continue
                try:
                    backend = load_backend(name, base=base)
                    await backend.capabilities()
                except SandboxUnavailableError as error:
                    subjects.missing.append(f"{name}: {error}")
                    continue
                opened.append(backend)
                subjects.backends[name] = backend, await backend.build(task)
            yield subjects
        finally:
            for backend in opened:
                await backend.close()

    def harbor_docker(self) -> str:
        """Why Harbor's Docker environment can't be measured here, or ""."""
        if not (HARBOR / "harbor").exists():
            return "Harbor's Docker environment: no .venv-harbor (./run test --all sets it up)"
        if "docker" not in self.backends:
            return "Harbor's Docker environment: no Docker engine"
        environment = docker_environment()
        if (
            shutil.which("docker") is None
            or subprocess.run(
                ["docker", "compose", "version"], env=environment, capture_output=True, check=False
            ).returncode
        ):
            return "Harbor's Docker environment: no `docker compose`"
        return ""


def docker_environment() -> dict[str, str]:
    """This process' variables, with the plug-ins that the tests' preparation may have brought."""
    plugins = Path(__file__).parents[2] / ".outside" / "docker-config"
    found = dict(os.environ)
    if plugins.is_dir():
        found.setdefault("DOCKER_CONFIG", str(plugins))
    return found
