"""What a task's `[environment]` asks of the machine: limits and network."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sandbox.protocol import NO_NETWORK, Limits, Network

if TYPE_CHECKING:
    from sandbox.task.task import Task


def task_limits(task: Task, limits: Limits) -> Limits:
    """`limits` with what the task's `[environment]` sets: `memory_mb`, `cpus` and `storage_mb`."""
    environment = task.config.environment
    memory = limits.memory_mb if environment.memory_mb is None else environment.memory_mb
    cpus = limits.cpus if environment.cpus is None else float(environment.cpus)
    storage = limits.storage_mb if environment.storage_mb is None else environment.storage_mb
    return replace(limits, memory_mb=memory, cpus=cpus, storage_mb=storage)


def task_network(task: Task) -> Network:
    """The network that the task's `[environment]` asks for; a phase's own policy is not considered."""
    environment = task.config.environment
    match environment.network_mode:
        case "no-network":
            return NO_NETWORK
        case "allowlist":
            return Network("allowlist", tuple(environment.allowed_hosts or ()))
        case _:
            return Network("public")
