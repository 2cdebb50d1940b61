"""One back end of ours for all environments that Harbor makes in one process, and what it can do.

Harbor makes an environment for each trial and never says when the last is done. So a back end lives as long as the
event loop: `asyncio.run` cancels what is left when it ends, and that closes it. Where a loop is dropped without that,
the back end's own backstops do the work when the process ends.
"""

from __future__ import annotations

import asyncio
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TYPE_CHECKING

from sandbox.backends import load_backend

if TYPE_CHECKING:
    from sandbox.protocol import Capabilities, SandboxBackend

Key = tuple[str, tuple[str, ...]]
_held: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Key, tuple[SandboxBackend, asyncio.Task[None]]]]
_held = weakref.WeakKeyDictionary()


def shared_backend(name: str, base: tuple[str, ...]) -> SandboxBackend:
    """The back end of the running event loop for these settings, made when missing.

    Raises:
        SandboxUnavailableError: There is none of that name, or its package is missing.
        ValueError: A rule of `base` is wrong.
    """
    loop = asyncio.get_running_loop()
    held = _held.setdefault(loop, {})
    if (name, base) not in held:
        backend = load_backend(name, base=base)
        held[name, base] = backend, loop.create_task(_close_at_the_end(backend), name=f"close the back end {name}")
    return held[name, base][0]


@lru_cache(maxsize=32)
def capabilities_of(name: str, base: tuple[str, ...]) -> Capabilities:
    """What a back end can do here, asked once for a process; blocks until it is known.

    Harbor wants to know it where nothing can be awaited, so it is asked in a loop of its own on a thread of its own.

    Raises:
        SandboxUnavailableError: It cannot run on this machine.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="sandbox-capabilities") as pool:
        return pool.submit(lambda: asyncio.run(_asked(name, base))).result()


async def _asked(name: str, base: tuple[str, ...]) -> Capabilities:
    backend = load_backend(name, base=base)
    try:
        return await backend.capabilities()
    finally:
        await backend.close()


async def _close_at_the_end(backend: SandboxBackend) -> None:
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        await backend.close()
