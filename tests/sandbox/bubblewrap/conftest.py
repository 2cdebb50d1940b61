"""A sandbox of a task that copies nothing, for every test that asks for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from sandbox.protocol import Limits
from sandbox.task import Task

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from sandbox.protocol import Capabilities, Image, Sandbox
    from sandbox.sandboxes import Sandboxes

Files = dict[str, str | bytes]

LIMITS = Limits(memory_mb=256, processes=64, file_size_mb=8, output_bytes=1 << 16, timeout=60)


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


@pytest_asyncio.fixture(loop_scope="session")
async def image(sandboxes: Sandboxes, write_task: Callable[..., Task]) -> Image:
    """The base, with a working directory."""
    return await sandboxes.build(
        write_task({"Dockerfile": "FROM python:3.12-bookworm\nENV FROM_IMAGE=yes\nWORKDIR /app\n"})
    )


@pytest_asyncio.fixture(loop_scope="session")
async def sandbox(sandboxes: Sandboxes, image: Image) -> AsyncIterator[Sandbox]:
    """A fresh sandbox."""
    async with sandboxes.running(image, limits=LIMITS) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def capabilities(sandboxes: Sandboxes) -> Capabilities:
    """What the back end can do on this machine."""
    return await sandboxes.backend.capabilities()
