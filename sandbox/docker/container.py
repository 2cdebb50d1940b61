"""How a sandbox's container is made: its limits, its network, its first process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox.docker.labels import labels_for
from sandbox.docker.storage import driver_can_bound
from sandbox.errors import UnsupportedTaskError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.docker.engine import Facts
    from sandbox.protocol import Limits

# Waits for a line on an input that nobody writes to: needs nothing but a shell, and no process is started for it.
KEEPER = "exec 3<&0; while :; do read -r line <&3 || sleep 3600 || exit; done"

_LEAST_MEMORY_MB = 8
_FEW_CPUS = 0.01
_NANO = 1_000_000_000


def enforced_limits(facts: Facts) -> frozenset[str]:
    """Names of the `Limits` that this engine enforces; `storage_mb` always is, by the driver or by `StorageWatch`."""
    found = {"file_size_mb", "open_files", "storage_mb", "output_bytes", "timeout"}
    for name, ability in (("memory_mb", "MemoryLimit"), ("processes", "PidsLimit"), ("cpus", "CpuCfsQuota")):
        if facts.has(ability):
            found.add(name)
    return frozenset(found)


def check_limits(facts: Facts, limits: Limits) -> None:
    """Refuses limits that would be ignored.

    Raises:
        UnsupportedTaskError: Names the limit.
    """
    enforced = enforced_limits(facts)
    for name in ("memory_mb", "processes", "cpus"):
        if getattr(limits, name) is not None and name not in enforced:
            raise UnsupportedTaskError(
                f"this Docker engine cannot limit {name}: its kernel lacks the control group for it (docker info says "
                "so in its warnings); enable it, or ask for no such limit"
            )
    if limits.memory_mb is not None and limits.memory_mb < _LEAST_MEMORY_MB:
        raise UnsupportedTaskError(f"memory_mb = {limits.memory_mb}: Docker gives {_LEAST_MEMORY_MB} MiB at least")


def container_arguments(facts: Facts, limits: Limits, place: Mapping[str, object]) -> dict[str, object]:
    """Arguments by name for `containers.create`.

    No privileges, devices or sockets of this machine are handed in. Docker's default capabilities stay, and
    `no-new-privileges` is not set: tasks with `sudo`, `su` or a set-uid `ping` are honest ones, and what root of a
    container may do is bounded by the container, not by the way it became root.

    Args:
        facts: The engine.
        limits: What the sandbox may use.
        place: What its network needs.
    """
    import docker.types

    arguments: dict[str, object] = {
        "entrypoint": ["/bin/sh", "-c", KEEPER],
        "command": [],
        "stdin_open": True,
        "init": True,  # takes in orphans, so that no ended process lies about and counts
        "user": "0:0",
        "working_dir": "/",
        "healthcheck": {"test": ["NONE"]},
        "labels": labels_for("sandbox"),
        "pids_limit": limits.processes,
        "ulimits": [
            docker.types.Ulimit(name="nofile", soft=limits.open_files, hard=limits.open_files),
            docker.types.Ulimit(name="fsize", soft=limits.file_size_mb << 20, hard=limits.file_size_mb << 20),
            docker.types.Ulimit(name="core", soft=0, hard=0),
        ],
        "log_config": docker.types.LogConfig(type="none"),
        "shm_size": "64m" if limits.memory_mb is None else f"{max(64, limits.memory_mb // 2)}m",
        **place,
    }
    if limits.memory_mb is not None:
        arguments |= {"mem_limit": f"{limits.memory_mb}m", "memswap_limit": f"{limits.memory_mb}m"}
    if limits.cpus is not None:
        available = float(str(facts.info.get("NCPU") or limits.cpus))
        arguments["nano_cpus"] = int(max(_FEW_CPUS, min(limits.cpus, available)) * _NANO)
    if limits.storage_mb is not None and driver_can_bound(facts.info):
        arguments["storage_opt"] = {"size": f"{limits.storage_mb}M"}
    return arguments
