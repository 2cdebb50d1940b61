"""Which network a run's sandboxes get, and how long verifiers ran in it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sandbox.protocol import NO_NETWORK, Image, Network
from sandbox.sandboxes import Sandboxes
from sandbox.task import Task
from sandbox.trial.network import chosen_network
from sandbox.trial.steps import run_reference
from sandbox.verification import metering


@dataclass
class Recording:
    """A back end that starts nothing, and knows what it was asked for."""

    real: Any
    asked: list[Network] = field(default_factory=list)

    async def build(self, task: Task) -> Image:
        return Image("image")

    async def capabilities(self) -> Any:
        return await self.real.capabilities()

    async def start(self, origin: object, *, limits: object, network: Network) -> Any:
        self.asked.append(network)
        return self

    async def stop(self) -> None:
        pass


def task_at(folder: Path, test: str = "echo 1 > /logs/verifier/reward.txt\n") -> Task:
    files = {
        "task.toml": 'schema_version = "1.4"\n[environment]\nnetwork_mode = "public"\n',
        "instruction.md": "Do nothing.\n",
        "environment/Dockerfile": "FROM python:3.12-bookworm\n",
        "solution/solve.sh": "true\n",
        "tests/test.sh": test,
    }
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    return Task.read(folder)


@pytest.mark.parametrize("choice", ["none", "task", "public", "host"])
async def test_a_tasks_sandbox_gets_the_network_of_the_run_and_an_images_none(
    sandboxes: Sandboxes, tmp_path: Path, choice: Any
) -> None:
    task, backend = task_at(tmp_path), Recording(sandboxes.backend)
    run = Sandboxes(backend, network=choice)  # type: ignore[arg-type]
    given = Network("allowlist", ("example.test",))
    async with run.running(task), run.running(Image("other")), run.running(task, network=given):
        pass
    expected = (
        chosen_network(task, choice, await sandboxes.backend.capabilities())[0] if choice != "none" else NO_NETWORK
    )
    assert backend.asked == [expected, NO_NETWORK, given]


async def test_verifiers_are_counted_where_they_run_side_by_side_and_nowhere_else(
    sandboxes: Sandboxes, tmp_path: Path
) -> None:
    task = task_at(tmp_path, "sleep 0.3\necho 1 > /logs/verifier/reward.txt\n")

    async def tried() -> None:
        async with sandboxes.running(task) as sandbox:
            assert (await run_reference(task, sandbox)).score == 1

    async def counted(times: int) -> metering.Meter:
        with metering.metered() as meter:
            await asyncio.gather(*(tried() for _ in range(times)))
        return meter

    one, two = await asyncio.gather(counted(1), counted(2))
    await tried()
    assert (one.runs, two.runs) == (1, 2)
    assert one.seconds >= 0.3
    assert two.seconds >= 0.6
