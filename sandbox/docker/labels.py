"""Labels that say whose a container, a network or an image is, so that a later run can clear away what is nobody's."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

OWNER = "envolve.owner"
KIND = "envolve.kind"
BACKEND = "envolve.backend"
IMAGE = "envolve.image"

Kind = Literal["sandbox", "proxy", "build", "compose", "snapshot", "base", "task"]

_START_TIME = 19  # field of /proc/PID/stat behind the parenthesis, counted from 0


def labels_for(kind: Kind) -> dict[str, str]:
    """The labels of something that this process makes."""
    return {OWNER: owner(), KIND: kind, BACKEND: "docker"}


def owner() -> str:
    """This process: `PID@BOOT:START`, unlike any other that this machine has had or will have."""
    pid = os.getpid()
    return f"{pid}@{_boot_id()}:{_start_time(pid)}"


def is_dead(labels: Mapping[str, str], *, running: bool) -> bool:
    """Whether the process that made something has ended.

    Args:
        labels: What it is labelled with; without an owner of ours it is not ours to judge.
        running: Whether it runs. What another boot (or another machine that shares the engine) made is given up only
            when it does not: containers of ours do not outlive a reboot, those of another machine live.
    """
    pid, at, rest = labels.get(OWNER, "").partition("@")
    boot, colon, start = rest.rpartition(":")
    if not at or not colon or not pid.isdecimal():
        return False
    if boot != _boot_id():
        return not running
    return _start_time(int(pid)) != start


@cache
def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"{os.uname().nodename}-without-proc"


def _start_time(pid: int) -> str:
    """When a process started, in clock ticks since boot; "" when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[_START_TIME]
