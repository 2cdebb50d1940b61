"""Labels by which a sandbox in the cloud says whose it is, so that a dead process's sandboxes can be found."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Mapping

OWNER = "envolve.owner"
MACHINE = "envolve.machine"
KIND = "envolve.kind"
BACKEND = "envolve.backend"
OURS = {KIND: "sandbox", BACKEND: "e2b"}
"""Labels that every sandbox of this back end has, whoever owns it."""

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_STARTED_WITHIN_SECONDS = 1.0


def labels() -> dict[str, str]:
    """The labels of a sandbox that this process starts."""
    started = psutil.Process().create_time()
    return {**OURS, OWNER: f"{os.getpid()}@{_boot_id()}:{started:.2f}", MACHINE: platform.node()}


def is_dead(of: Mapping[str, str]) -> bool:
    """Whether the owner that labels name was a process of this machine and is one no more.

    Of an owner on another machine nothing is known: its sandboxes end by their own time-out.
    """
    pid, _, rest = of.get(OWNER, "").partition("@")
    boot, _, started = rest.rpartition(":")
    if of.get(MACHINE) != platform.node() or not pid.isdecimal():
        return False
    if boot != _boot_id():
        return True
    try:
        return abs(psutil.Process(int(pid)).create_time() - float(started)) > _STARTED_WITHIN_SECONDS
    except (psutil.NoSuchProcess, ValueError):
        return True


def _boot_id() -> str:
    return _BOOT_ID.read_text().strip()
