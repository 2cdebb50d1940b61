"""Real sandboxes for every test that asks for them, of one back end for the whole run: preparing one takes seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from sandbox.backends import load_backend
from sandbox.errors import SandboxUnavailableError
from sandbox.sandboxes import Sandboxes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A back end belongs to one event loop, so tests that use `sandboxes` share the session's."""
    for item in items:
        if pytest_asyncio.is_async_test(item) and "sandboxes" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def sandboxes() -> AsyncIterator[Sandboxes]:
    """Sandboxes of the default back end; skips where this machine has none."""
    backend = load_backend(base=("*=host",))
    try:
        await backend.capabilities()
    except SandboxUnavailableError as error:
        pytest.skip(f"no sandbox on this machine: {error}")
    yield Sandboxes(backend)
    await backend.close()
