"""The back ends that the battery is run on: bubblewrap, Docker, or the one that `--sandbox` names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio

from sandbox.backends import load_backend
from sandbox.errors import SandboxUnavailableError
from sandbox.protocol import Image, SandboxBackend
from sandbox.task import Task
from tests.attacks.victims import victim

DEBIAN = Path(__file__).parents[2] / ".outside" / "debian"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--sandbox", default="", help="run the attack battery on this back end: a name or module:Class")
    parser.addoption("--sandbox-base", action="append", default=[], help="what a FROM line stands for there")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "target" not in metafunc.fixturenames:
        return
    named = metafunc.config.getoption("--sandbox", default="")
    targets = [named] if named else ["bubblewrap", pytest.param("docker", marks=pytest.mark.outside)]
    metafunc.parametrize("target", targets, indirect=True, scope="session")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A back end belongs to one event loop; and what takes long is marked."""
    for item in items:
        if "undefended" in item.name and "docker-" in item.name:
            item.add_marker(pytest.mark.long)  # shown on bubblewrap: the attacks are the same
        if pytest_asyncio.is_async_test(item) and "target" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@dataclass
class Target:
    """A back end under attack."""

    name: str
    base: tuple[str, ...]
    backend: SandboxBackend
    folder: Path
    images: dict[str, tuple[Task, Image]] = field(default_factory=dict)

    async def victim(self, name: str) -> tuple[Task, Image]:
        """The victim task of that name, and its image."""
        if name not in self.images:
            task = Task.read(victim(name, self.folder))
            self.images[name] = task, await self.backend.build(task)
        return self.images[name]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Target]:
    name: str = request.param
    base = tuple(request.config.getoption("--sandbox-base", default=[]))
    if not base and name == "docker":
        if not DEBIAN.with_suffix(".done").exists():
            pytest.skip("no Debian root folder (./run test --all makes it)")
        base = (f"*={DEBIAN}",)
    elif not base and name == "bubblewrap":
        base = ("*=host",)
    backend = load_backend(name, base=base)
    try:
        await backend.capabilities()
    except SandboxUnavailableError as error:
        pytest.skip(f"no {name} on this machine: {error}")
    yield Target(name, base, backend, tmp_path_factory.mktemp("victims"))
    await backend.close()
    left = await backend.stale()
    assert not [stale for stale in left if stale.kind != "image"], "the battery left something behind"
