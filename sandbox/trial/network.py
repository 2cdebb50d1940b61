"""Which network a trial gets: the task's own, or less where the back end hasn't it; never more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from sandbox.protocol import NO_NETWORK, Network
from sandbox.task.limits import task_network
from sandbox.trial.result import TrialFinding

if TYPE_CHECKING:
    from sandbox.protocol import Capabilities
    from sandbox.task import Task

NetworkChoice = Literal["task", "none", "public", "host"]
CHOICES: Final[tuple[NetworkChoice, ...]] = ("task", "none", "public", "host")
NARROWED: Final = "network-narrowed"
_WIDTH: Final = {"none": 0, "allowlist": 1, "public": 2}


def chosen_network(task: Task, choice: NetworkChoice, can: Capabilities) -> tuple[Network, tuple[TrialFinding, ...]]:
    """The network of a trial and what is to be said of it.

    Args:
        task: Its `[environment]` is asked, and the narrower policies of its agents: one sandbox has one network.
        choice: `task` for the task's own; another mode is taken as it is, and refused by a back end that hasn't it.
        can: What the back end offers.
    """
    if choice != "task":
        return Network(choice), ()
    network, notes = _narrowest(task)
    if network.mode in can.networks:
        return network, notes
    offers = ", ".join(sorted(can.networks))
    note = (
        f"the task asks for the network {network.mode}, which this back end has not (it has {offers}): it ran with none"
    )
    return NO_NETWORK, (*notes, TrialFinding(NARROWED, "", note))


def _narrowest(task: Task) -> tuple[Network, tuple[TrialFinding, ...]]:
    """The environment's network, or that of an agent's phase where it is narrower."""
    network = declared = task_network(task)
    for agent in (task.config.agent, *(step.config.agent for step in task.steps if step.config)):
        if agent.network_mode is None:
            continue
        mode = "none" if agent.network_mode == "no-network" else agent.network_mode
        if _WIDTH[mode] < _WIDTH[network.mode]:
            network = Network(mode, tuple(agent.allowed_hosts or ()))
    if network == declared:
        return network, ()
    note = f"[agent] network_mode is {network.mode}: the whole trial ran with it, setup and verifier too"
    return network, (TrialFinding(NARROWED, "", note),)
