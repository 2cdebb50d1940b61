"""One docker back end for the tests of it, on a real engine and a real Debian root."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from sandbox.protocol import Limits
from sandbox.task import Task

docker = pytest.importorskip("docker", reason="the package docker is missing: pip install 'envolve[docker]'")

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from sandbox.docker.backend import DockerBackend
    from sandbox.docker.sandbox import DockerSandbox
    from sandbox.protocol import Image

DEBIAN = Path(__file__).parents[3] / ".outside" / "debian"
LIMITS = Limits(memory_mb=256, processes=64, file_size_mb=8, output_bytes=1 << 16, timeout=60)

Files = dict[str, str | bytes]


@pytest.fixture(scope="session")
def engine() -> docker.DockerClient:
    """The SDK's own client, to look at the engine beside the back end; skips where no engine answers."""
    try:
        client = docker.from_env()
        client.ping()
    except docker.errors.DockerException as error:
        pytest.skip(f"no Docker engine: {error}")
    return client


@pytest.fixture(scope="session")
def debian() -> Path:
    """A root folder; skips where there is none."""
    if not DEBIAN.is_dir():
        pytest.skip("no Debian root in .outside/debian: ./run test --all makes it")
    return DEBIAN


@pytest.fixture
def write_task(tmp_path: Path) -> Callable[..., Task]:
    """Writes a task folder around some files of `environment/`; names that end in `.sh` may be run."""
    count = 0

    def written(files: Files, toml: str = "") -> Task:
        nonlocal count
        count += 1
        root = tmp_path / f"task-{count}"
        plain = {
            "task.toml": f'schema_version = "1.4"\n[task]\nname = "tests/small"\n{toml}',
            "instruction.md": "Nothing to do.\n",
            "solution/solve.sh": "#!/bin/bash\n",
            "tests/test.sh": "#!/bin/bash\n",
            **{f"environment/{path}": content for path, content in files.items()},
        }
        for path, content in plain.items():
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content if isinstance(content, bytes) else content.encode())
            place.chmod(0o755 if path.endswith(".sh") else 0o644)
        return Task.read(root)

    return written


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def backend(engine: docker.DockerClient, debian: Path) -> AsyncIterator[DockerBackend]:
    from sandbox.docker.backend import DockerBackend

    made = DockerBackend(base=(f"*={debian}",))
    yield made
    await made.close()


@pytest_asyncio.fixture(loop_scope="session")
async def image(backend: DockerBackend, write_task: Callable[..., Task]) -> Image:
    """The base with a variable and a working directory."""
    dockerfile = "FROM python:3.12-bookworm\nENV FROM_IMAGE=yes\nWORKDIR /app\nRUN echo base >/srv/base\n"
    return await backend.build(write_task({"Dockerfile": dockerfile}))


@pytest_asyncio.fixture(loop_scope="session")
async def sandbox(backend: DockerBackend, image: Image) -> AsyncIterator[DockerSandbox]:
    """A fresh sandbox."""
    made = await backend.start(image, limits=LIMITS)
    yield made
    await made.stop()
