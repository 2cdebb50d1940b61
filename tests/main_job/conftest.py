"""Fixtures of the main job's tests; they skip where this machine has no sandbox."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from sandbox.backends import load_backend
from sandbox.errors import SandboxUnavailableError
from tests.main_job.running import Job

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session", autouse=True)
def _sandboxes_work() -> None:
    async def ask() -> None:
        backend = load_backend(base=("*=host",))
        try:
            await backend.capabilities()
        finally:
            await backend.close()

    try:
        asyncio.run(ask())
    except SandboxUnavailableError as error:
        pytest.skip(f"no sandbox on this machine: {error}")


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path / "state")
