"""Limits that each process gets by itself: beside the control groups, or in their place where there are none."""

from __future__ import annotations

import os
import resource
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox.bubblewrap.wire import Body
    from sandbox.protocol import Limits

_DESCRIPTORS_EACH = 16
_DESCRIPTORS_BESIDE = 256


def process_limits(limits: Limits, grouped: frozenset[str], number: int) -> Body:
    """The fields `rlimits` and `cpus` of a command's request.

    Args:
        limits: What the sandbox may use.
        grouped: Names of `Limits` fields that control groups enforce.
        number: The sandbox's number: those that get few processors are spread over all.
    """
    rlimits = {"FSIZE": limits.file_size_mb << 20, "NOFILE": limits.open_files}
    if "processes" not in grouped:
        rlimits["NPROC"] = limits.processes
    if "memory_mb" not in grouped and limits.memory_mb is not None:
        rlimits["DATA"] = limits.memory_mb << 20
    cpus: list[int] = []
    if limits.cpus is not None and "cpus" not in grouped:
        available = sorted(os.sched_getaffinity(0))
        count = min(len(available), max(1, -(-int(limits.cpus * 100) // 100)))
        cpus = [available[(number + step) % len(available)] for step in range(count)]
    return {"rlimits": rlimits, "cpus": cpus}


def allow_descriptors(sandboxes: int) -> None:
    """Raises this process's own limit of open files, as far as it may, where it is too low for so many sandboxes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = sandboxes * _DESCRIPTORS_EACH + _DESCRIPTORS_BESIDE
    if soft != resource.RLIM_INFINITY and soft < wanted:
        raised = wanted if hard == resource.RLIM_INFINITY else min(max(2 * wanted, soft), hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
