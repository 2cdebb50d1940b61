"""The `bwrap` command line of one sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox.bubblewrap.roots import overlay_arguments

if TYPE_CHECKING:
    from pathlib import Path

    from sandbox.bubblewrap.roots import Root, Writable
    from sandbox.protocol import NetworkMode

INFO_FD = 3
USERNS_FD = 4
GATE_FD = 5
HOSTNAME = "sandbox"
# Such ones as Docker and a cluster give; the host base resolves them, too.
OTHER_HOSTNAMES = ("4f1c9a7be052", "worker-12.pool-b.example")

# Before it becomes the first process, `bwrap` reads one byte from the gate: see `Gate` in
# `sandbox.bubblewrap.starting`. The first process: it ignores every signal, reaps orphans, and ends when the host
# closes its standard input.
INIT = "exec 4<&-; trap '' {1..8} {10..16} 18 {20..64}; echo; while read -r _; do :; done"

# Held by the first process alone. Nobody without it may trace that process or open its descriptors, so no command can
# keep the pipe open whose end tells it that the host has gone. It allows setting an alarm clock, nothing else.
_SHIELD = "CAP_WAKE_ALARM"

_SHM_MB = 256  # at most; a part of the memory limit, or what lies there would leave none to commands
_SHM_PART = 4


def bwrap_arguments(
    bwrap: str,
    root: Root,
    writable: Writable,
    *,
    network: NetworkMode,
    resolv_conf: Path | None = None,
    memory_mb: int | None = None,
    userns: bool = True,
    first: list[str] | None = None,
) -> list[str]:
    """Builds the command line.

    Args:
        bwrap: The program.
        root: What is below.
        writable: What takes the writes.
        network: `host` for the machine's network; all others are a network name space with a loopback of its own, which
            `networking` may add to.
        resolv_conf: What is to be `/etc/resolv.conf`; the root's own when left out.
        memory_mb: The memory limit, MiB.
        userns: Whether a user name space comes on descriptor `USERNS_FD`; otherwise `bwrap` makes one.
        first: The first process; `INIT` when left out.
    """
    shm = (_SHM_MB if memory_mb is None else max(1, min(_SHM_MB, memory_mb // _SHM_PART))) << 20
    mounts = [
        *overlay_arguments(root, writable),
        *("--proc", "/proc"),
        # Where root inside is root outside, the kernel would take settings from it.
        *("--ro-bind", "/proc/sys", "/proc/sys"),
        *("--ro-bind-try", "/proc/sysrq-trigger", "/proc/sysrq-trigger"),
        *("--ro-bind-try", "/proc/fs", "/proc/fs"),
        *("--ro-bind-try", "/proc/mtrr", "/proc/mtrr"),
        *("--dev", "/dev"),
        *("--size", str(shm), "--perms", "1777", "--tmpfs", "/dev/shm"),  # noqa: S108 - inside
        *("--remount-ro", "/dev"),
    ]
    if resolv_conf is not None:
        mounts += ["--ro-bind-try", str(resolv_conf), "/etc/resolv.conf"]
    return [
        bwrap,
        *(("--userns", str(USERNS_FD)) if userns else ("--unshare-user",)),
        *("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
        *(() if network == "host" else ("--unshare-net",)),
        *("--hostname", HOSTNAME, "--die-with-parent", "--as-pid-1"),
        *(("--info-fd", str(INFO_FD), "--block-fd", str(GATE_FD)) if first is None else ()),
        *("--cap-drop", "ALL", "--cap-add", _SHIELD, "--clearenv"),
        *mounts,
        "--",
        *(first or ["/bin/bash", "--norc", "--noprofile", "-c", INIT]),
    ]
