"""More sandboxes like one that runs: a copy of its files, or a clean one of its image, with its limits and network."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sandbox.protocol import Sandbox


@asynccontextmanager
async def fork(sandbox: Sandbox) -> AsyncIterator[Sandbox]:
    """A copy of a sandbox's files as they are now, in a sandbox of its own; no process is copied.

    Raises:
        UnsupportedTaskError: The back end has no snapshots.
        SandboxError: It could not be started.
    """
    snapshot = await sandbox.snapshot()
    try:
        copy = await sandbox.backend.start(snapshot, limits=sandbox.limits, network=sandbox.network)
        try:
            yield copy
        finally:
            await asyncio.shield(copy.stop())
    finally:
        await asyncio.shield(sandbox.backend.discard(snapshot))


@asynccontextmanager
async def fresh(sandbox: Sandbox) -> AsyncIterator[Sandbox]:
    """A clean sandbox of the same image.

    Raises:
        SandboxError: It could not be started.
    """
    clean = await sandbox.backend.start(sandbox.image, limits=sandbox.limits, network=sandbox.network)
    try:
        yield clean
    finally:
        await asyncio.shield(clean.stop())
