"""Tasks to verify, and a way to verify them after an agent has run a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sandbox.task import Task
from sandbox.verification.verify import verify

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from sandbox.sandboxes import Sandboxes
    from sandbox.verification.verify import Verification

    Written = Callable[..., Task]
    Verified = Callable[..., Awaitable[Verification]]

DOCKERFILE = "FROM python:3.12-bookworm\nWORKDIR /app\n"


@pytest.fixture
def folder(tmp_path: Path) -> Written:
    """Writes a task: `toml`, and further files by path; `test.sh` may be run."""

    def written(test: str = "", *, toml: str = "", files: dict[str, str] | None = None, dockerfile: str = "") -> Task:
        root = tmp_path / f"task-{len(list(tmp_path.iterdir()))}"
        texts = {
            "task.toml": f'{toml}\n[environment]\nnetwork_mode = "no-network"\n',
            "instruction.md": "Write 42 to /app/answer.\n",
            "environment/Dockerfile": DOCKERFILE + dockerfile,
            **({"tests/test.sh": f"#!/bin/bash\n{test}\n"} if test else {}),
            **(files or {}),
        }
        for path, text in texts.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
            (root / path).chmod(0o755 if path.endswith(".sh") else 0o644)
        return Task.read(root)

    return written


@pytest.fixture
def after(sandboxes: Sandboxes) -> Verified:
    """Verifies a task after an agent has run a command in its sandbox."""

    async def run(task: Task, agent: str = "true", **how: object) -> Verification:
        async with sandboxes.running(task) as sandbox:
            done = await sandbox.exec(agent)
            assert done.ok, done.error_text
            return await verify(task, sandbox, **how)

    return run
