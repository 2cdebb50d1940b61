"""Runs a task's health check with the meaning of Docker's HEALTHCHECK."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.protocol import ExecResult, Sandbox
    from sandbox.task.config import HealthcheckConfig


async def run_healthcheck(
    sandbox: Sandbox,
    check: HealthcheckConfig,
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    user: str | int | None = None,
) -> ExecResult:
    """Runs the check until it passes or has failed `retries` times in a row; returns its last result.

    Failures within `start_period_sec` do not count.
    """
    began = time.monotonic()
    failures = 0
    while True:
        starting = time.monotonic() - began < check.start_period_sec
        result = await sandbox.exec(check.command, cwd=cwd, env=env, user=user, timeout=check.timeout_sec)
        if result.ok:
            return result
        if starting:
            await asyncio.sleep(check.start_interval_sec)
            continue
        failures += 1
        if failures >= check.retries:
            return result
        await asyncio.sleep(check.interval_sec)
