"""Images as they were built, to compare with: containers of them that are made and never started."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sandbox.docker import leftovers
from sandbox.docker.archives import Archives
from sandbox.docker.labels import labels_for

if TYPE_CHECKING:
    from sandbox.docker.engine import Engine

_MOST = 8


class Pristine:
    """A few such containers, the last ones asked for.

    Args:
        engine: The engine.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._containers: dict[str, str] = {}
        self._making = asyncio.Lock()

    async def archives(self, image: str) -> Archives:
        """The files of an image."""
        async with self._making:
            container = self._containers.pop(image, "")
            if not container:
                container = await self._make(image)
            self._containers[image] = container  # the last in the row is the last one used
            while len(self._containers) > _MOST:
                await self._remove(self._containers.pop(next(iter(self._containers))))
        return Archives(self._engine.client, container)

    async def close(self) -> None:
        """Removes them."""
        while self._containers:
            await self._remove(self._containers.popitem()[1])

    async def _make(self, image: str) -> str:
        made = await self._engine.call(
            "making an image's files readable",
            self._engine.client.api.create_container,
            image,
            entrypoint=["/bin/sh"],
            labels=labels_for("build"),
            network_disabled=True,
        )
        return str(made["Id"])

    async def _remove(self, container: str) -> None:
        await self._engine.call("removing", leftovers.remove_container, self._engine.client, container)


def really_changed(now: Archives, before: Archives, folders: list[str]) -> set[str]:
    """Those of some folders that were no folder in the image, or had other permissions; blocks."""
    changed = set()
    for folder in folders:
        here, there = now.status(folder), before.status(folder)
        if here is not None and (there is None or there.mode != here.mode):
            changed.add(folder)
    return changed
