"""Which limits hold in the cloud, and the refusal of those that don't when somebody asked for them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sandbox.e2b.users import ROOT_NAMES
from sandbox.errors import UnsupportedTaskError
from sandbox.protocol import Limits

if TYPE_CHECKING:
    from e2b.sandbox.sandbox_api import SandboxInfo

    from sandbox.protocol import Image

ENFORCED = frozenset({"file_size_mb", "open_files", "output_bytes", "timeout"})
"""Kept by `ulimit` in front of each command, and on this side of the wire."""

_DEFAULTS = Limits()


def check_limits(limits: Limits, image: Image) -> None:
    """Refuses what can't be kept and differs from the default: nothing is silently less.

    Raises:
        UnsupportedTaskError: Names the limit.
    """
    if limits.storage_mb != _DEFAULTS.storage_mb:
        raise UnsupportedTaskError(
            f"limit storage_mb={limits.storage_mb}: the size of an E2B sandbox's disk is set by the team's plan and "
            "cannot be limited here; leave it out, or use the docker back end (--sandbox docker)"
        )
    if limits.processes != _DEFAULTS.processes and image.user in ROOT_NAMES:
        raise UnsupportedTaskError(
            f"limit processes={limits.processes}: the kernel counts no processes of root, and this image's commands "
            "run as root; leave it out, or use the docker back end (--sandbox docker)"
        )


def needs_info(limits: Limits) -> bool:
    """Whether the machine's own size has to be looked up."""
    return limits.memory_mb not in (_DEFAULTS.memory_mb, None) or limits.cpus is not None


def check_machine(limits: Limits, info: SandboxInfo) -> None:
    """Checks that the machine has just the memory and processors that were asked for; both belong to the template.

    One that has more does not bound what a sandbox uses; one that has less would be silently less.

    Raises:
        UnsupportedTaskError: The template is of another size; names the limit.
    """
    memory, processors = limits.memory_mb, limits.cpus
    if memory not in (None, _DEFAULTS.memory_mb) and info.memory_mb != memory:
        raise _other_size(f"memory_mb={memory}", f"{info.memory_mb} MiB", f"memory_mb={memory}", info)
    if processors is not None and info.cpu_count != processors:
        wanted = f"cpu_count={max(1, math.ceil(processors))}"
        raise _other_size(f"cpus={processors:g}", f"{info.cpu_count} processors", wanted, info)


def _other_size(asked: str, has: str, wanted: str, info: SandboxInfo) -> UnsupportedTaskError:
    return UnsupportedTaskError(
        f"limit {asked}: sandboxes of the template {info.template_id} have {has}, no more and no less, and E2B sets no "
        f"other limit inside; build a template with {wanted} and map the image to it (--base IMAGE=TEMPLATE), or use "
        "the docker back end (--sandbox docker)"
    )
