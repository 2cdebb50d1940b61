"""How the phases of a trial run: variables, user, working directory and time of agent, solution and verifier.

A step's own setting beats the task's, the task's beats the image's, as in Harbor.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from sandbox.errors import UnsupportedTaskError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.task.task import Task, TaskStep

_TEMPLATE = re.compile(r"\$\{([^}:]+)(?::-(.*))?\}")


def resolved_env(declared: Mapping[str, str], host: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables with `${VAR}` and `${VAR:-default}` filled in from the host's environment; other values as they are.

    Raises:
        UnsupportedTaskError: The host has no such variable and there is no default.
    """
    known = os.environ if host is None else host
    resolved = dict(declared)
    for name, value in declared.items():
        match = _TEMPLATE.fullmatch(value)
        if match is None:
            continue
        found = known.get(match[1], match[2])
        if found is None:
            raise UnsupportedTaskError(
                f"the task wants the variable {match[1]} of this machine (for {name}): set it, or give task.toml a "
                f"default as in ${{{match[1]}:-value}}"
            )
        resolved[name] = found
    return resolved


def agent_env(task: Task) -> dict[str, str]:
    """What the agent's commands see on top of the image's variables: `[environment] env`."""
    return resolved_env(task.config.environment.env)


def solution_env(task: Task) -> dict[str, str]:
    """What the reference solution sees: the agent's variables and `[solution] env`."""
    return {"DEBIAN_FRONTEND": "noninteractive", **agent_env(task), **resolved_env(task.config.solution.env)}


def verifier_env(task: Task, step: TaskStep) -> dict[str, str]:
    """What the verifier sees: `[environment] env`, `[verifier] env` and its step's."""
    own = step.config.verifier.env if step.config else {}
    return {**agent_env(task), **resolved_env({**task.config.verifier.env, **own})}


def agent_user(task: Task, step: TaskStep) -> str | int | None:
    """Who the agent and the reference solution run as; `None` is the image's user."""
    own = step.config.agent.user if step.config else None
    return task.config.agent.user if own is None else own


def verifier_user(task: Task, step: TaskStep) -> str | int | None:
    """Who the verifier runs as; `None` is the image's user."""
    own = step.config.verifier.user if step.config else None
    return task.config.verifier.user if own is None else own


def agent_timeout(task: Task, step: TaskStep) -> float | None:
    """Seconds the agent has; `None` leaves it to the sandbox's limits."""
    own = step.config.agent.timeout_sec if step.config else None
    return task.config.agent.timeout_sec if own is None else own


def verifier_timeout(task: Task, step: TaskStep) -> float:
    """Seconds the verifier has; a step's default of 600 beats the task's value, as in Harbor."""
    return step.config.verifier.timeout_sec if step.config else task.config.verifier.timeout_sec
