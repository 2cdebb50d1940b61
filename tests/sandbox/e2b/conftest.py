"""The e2b back end on a cloud of our own, and on the real one where there is a key for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from sandbox.backends import load_backend
from sandbox.errors import SandboxUnavailableError
from sandbox.protocol import Image, Limits

pytest.importorskip("e2b", reason="the package e2b is not installed: pip install 'envolve[e2b]'")

from sandbox.e2b.backend import E2BBackend
from tests.sandbox.e2b.machine import Size
from tests.sandbox.e2b.server import KEY, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from sandbox.e2b.sandbox import E2BSandbox
    from tests.sandbox.e2b.server import Cloud

BASE = Image("base", base="base")
LIMITS = Limits(output_bytes=1 << 16, file_size_mb=1, open_files=100, timeout=60)
_REAL_KEY = os.environ.get("E2B_API_KEY", "")
_SETTINGS = ("E2B_API_KEY", "E2B_API_URL", "E2B_SANDBOX_URL", "E2B_HTTP_VERSION", "E2B_DOMAIN", "E2B_DEBUG")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A back end belongs to one event loop, so tests that use the cloud share the session's."""
    for item in items:
        names = getattr(item, "fixturenames", ())
        if pytest_asyncio.is_async_test(item) and {"served", "cloud", "backend"} & set(names):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def served() -> AsyncIterator[tuple[Cloud, str]]:
    """Our own cloud and its address, for the whole run."""
    if not Path("/usr/bin/python3").exists():
        pytest.skip("the service inside the test's sandboxes needs /usr/bin/python3")
    behind = load_backend("bubblewrap", base=("*=host",))
    try:
        await behind.capabilities()
    except SandboxUnavailableError as error:
        pytest.skip(f"no sandbox on this machine: {error}")
    async with serving(behind, await behind.host_image()) as running:  # type: ignore[attr-defined]
        yield running
    await behind.close()


@pytest.fixture
def settings() -> Iterator[pytest.MonkeyPatch]:
    """The package's variables, none of them set."""
    with pytest.MonkeyPatch.context() as patch:
        for name in _SETTINGS:
            patch.delenv(name, raising=False)
        yield patch


@pytest.fixture
def cloud(served: tuple[Cloud, str], settings: pytest.MonkeyPatch) -> Iterator[Cloud]:
    """Our own cloud, with its knobs."""
    running, address = served
    settings.setenv("E2B_API_KEY", KEY)
    settings.setenv("E2B_API_URL", address)
    settings.setenv("E2B_SANDBOX_URL", address)
    settings.setenv("E2B_HTTP_VERSION", "1.1")
    running.requests.clear()
    yield running
    running.faults.clear()
    running.size, running.freezes_files = Size(), True


@pytest.fixture(params=["ours", "real"])
def reached(request: pytest.FixtureRequest, settings: pytest.MonkeyPatch) -> str:
    """Which cloud a test runs on: our own, and the real one too where there is a key."""
    if request.param == "ours":
        request.getfixturevalue("cloud")
    elif not _REAL_KEY:
        pytest.skip("the real E2B cloud is used only where E2B_API_KEY is set")
    else:
        settings.setenv("E2B_API_KEY", _REAL_KEY)
    return request.param


@pytest_asyncio.fixture(loop_scope="session")
async def backend(reached: str) -> AsyncIterator[E2BBackend]:
    """The back end, on either cloud."""
    made = E2BBackend(template="base")
    yield made
    await made.close()


@pytest_asyncio.fixture(loop_scope="session")
async def sandbox(backend: E2BBackend) -> AsyncIterator[E2BSandbox]:
    """A sandbox of the template `base`."""
    running = await backend.start(BASE, limits=LIMITS)
    yield running
    await running.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def ours(cloud: Cloud) -> AsyncIterator[E2BBackend]:
    """The back end on our own cloud alone, for tests that turn its knobs."""
    made = E2BBackend(template="base")
    yield made
    await made.close()
