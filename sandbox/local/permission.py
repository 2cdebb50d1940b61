"""Whether commands may run on this machine with no isolation: only when somebody said so."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sandbox.errors import SandboxUnavailableError

VARIABLE = "ENVOLVE_LOCAL"
_CONTAINER = "container"  # as systemd-nspawn and podman set it
_SIGNS = ("docker", "kubepods", "containerd", "libpod", "lxc")
_WARNING = (
    "WARNING: the sandbox `local` isolates nothing. Commands run on this machine as this user and can change or remove "
    "everything that this user can. Use it only inside a container or a virtual machine that may be lost.\n"
)
_said: set[int] = set()


def check_permitted(*, told: bool) -> None:
    """Makes sure that somebody said so, and warns on standard error, once in each process.

    Raises:
        SandboxUnavailableError: Nobody did.
    """
    if not told and os.environ.get(VARIABLE) != "1":
        seen = (
            "This looks like a container; if it is one that may be lost"
            if in_container()
            else "If this machine may be lost"
        )
        raise SandboxUnavailableError(
            "the sandbox `local` has no isolation: commands would run on this machine as this user. "
            f"{seen}, say so: {VARIABLE}=1, or the option i_am_in_a_sandbox=True. Otherwise take another one "
            "(--sandbox bubblewrap)"
        )
    if os.getpid() not in _said:
        _said.add(os.getpid())
        sys.stderr.write(_WARNING)
        sys.stderr.flush()


def in_container(root: Path = Path("/")) -> bool:
    """Whether this process seems to run in a container.

    Args:
        root: Where the machine's files are.
    """
    if (root / ".dockerenv").exists() or (root / "run/.containerenv").exists() or _CONTAINER in os.environ:
        return True
    try:
        groups = (root / "proc/1/cgroup").read_text()
    except OSError:
        return False
    return any(sign in groups for sign in _SIGNS)
