"""Keeps a sandbox alive: the service kills it once its time is up, so its time is renewed while somebody owns it."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from sandbox.e2b.failures import attempted
from sandbox.errors import SandboxError, SandboxLostError

if TYPE_CHECKING:
    from e2b import AsyncSandbox

_log = logging.getLogger(__name__)
_RENEWALS = 3
"""How often its time is renewed before it would be up: two failures in a row do no harm."""


class Keeper:
    """Renews the time of one sandbox in the background.

    Args:
        cloud: The sandbox.
        seconds: The time it is given each time.
    """

    def __init__(self, cloud: AsyncSandbox, seconds: int) -> None:
        self._cloud = cloud
        self._seconds = seconds
        self._task = asyncio.create_task(self._keep())
        self.lost = ""

    async def stop(self) -> None:
        """Renews no more."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(self._seconds / _RENEWALS)
            try:
                await attempted("renewing a sandbox's time", lambda: self._cloud.set_timeout(self._seconds))
            except SandboxLostError as error:
                self.lost = str(error)
                return
            except SandboxError as error:
                _log.warning("sandbox %s: its time could not be renewed: %s", self._cloud.sandbox_id, error)
